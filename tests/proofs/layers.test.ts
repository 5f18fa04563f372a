import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

interface Import {
  from: string;
  to: string;
}

/** Returns the imports between the files of a package. Type imports count as well, because a reader has to follow them. */
function importsOf(name: string): { files: string[]; imports: Import[] } {
  const source = path.resolve(import.meta.dirname, "../../packages", name, "src");
  const files = globSync("**/*.ts", { cwd: source }).map((file) => file.replaceAll("\\", "/"));
  const imports = files.flatMap((from) =>
    [...readFileSync(path.join(source, from), "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"\s]+)"/g)]
      .map((match) => path.posix.normalize(path.posix.join(path.posix.dirname(from), match[1]!)))
      .filter((to) => files.includes(to))
      .map((to) => ({ from, to })),
  );
  return { files, imports };
}

/** The folders of core, from the lowest layer to the highest. A folder imports only from itself and from lower layers. */
const CORE_LAYERS = (
  "values config dns schema context db process lists job alert stream idempotency audit organization gateway activity subscription tag " +
  "notification follow approval metrics change http mail memory body-storage budget task run artifact usage agent key webhook board skill " +
  "saved-view inbox people channel push slack"
).split(" ");

/** Imports that lead to a higher layer. Remove an entry once its import is gone; do not add one. */
const CORE_UPWARD: readonly string[] = [
  "context -> db",
  "job -> activity",
  "organization -> activity",
  "organization -> agent",
  "organization -> change",
  "organization -> skill",
  "organization -> webhook",
];

const OPENCLAW_LAYERS = "wire soul template host usage provisioning gateway skill coordination sync onboarding".split(" ");
const OPENCLAW_UPWARD: readonly string[] = [];

const API_LAYERS = "work guidance sign-in edge runtime.ts endpoint.ts mcp openapi routes stream groups.ts app.ts".split(" ");
const API_UPWARD: readonly string[] = ["edge -> endpoint.ts", "edge -> runtime.ts", "routes -> groups.ts"];

const folderOf = (file: string) => file.split("/")[0]!;

function upwardArrows(imports: readonly Import[], layers: readonly string[]): string[] {
  const arrows = imports
    .map(({ from, to }) => [folderOf(from), folderOf(to)] as const)
    .filter(([from, to]) => layers.indexOf(to) > layers.indexOf(from))
    .map((arrow) => arrow.join(" -> "));
  return [...new Set(arrows)].toSorted();
}

/**
 * Finds the groups of files that import each other in a circle, also through other files. It uses Tarjan's algorithm for strongly
 * connected components. A file that is in no circle is left out.
 */
function importCircles({ files, imports }: { files: readonly string[]; imports: readonly Import[] }): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file)!);
    stack.push(file);
    for (const { to } of imports.filter(({ from }) => from === file)) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(file, Math.min(low.get(file)!, low.get(to)!));
    }
    if (low.get(file) === index.get(file)) groups.push(stack.splice(stack.indexOf(file)));
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return groups.filter((group) => group.length > 1);
}

const core = importsOf("core");
const openclaw = importsOf("openclaw");
const api = importsOf("api");

test("every file of core is in a folder that has a layer", () => {
  expect([...new Set(core.files.map(folderOf))].filter((folder) => !CORE_LAYERS.includes(folder))).toEqual([]);
});

test("every file of openclaw is in a folder that has a layer", () => {
  expect([...new Set(openclaw.files.map(folderOf))].filter((folder) => !OPENCLAW_LAYERS.includes(folder))).toEqual([]);
});

test("every file of api is in a folder that has a layer, or has a layer itself", () => {
  expect([...new Set(api.files.map(folderOf))].filter((folder) => !API_LAYERS.includes(folder))).toEqual([]);
});

test("only listed imports of core lead to a higher layer, and the list only shrinks", () => {
  expect(upwardArrows(core.imports, CORE_LAYERS)).toEqual(CORE_UPWARD);
});

test("only listed imports of openclaw lead to a higher layer, and the list only shrinks", () => {
  expect(upwardArrows(openclaw.imports, OPENCLAW_LAYERS)).toEqual(OPENCLAW_UPWARD);
});

test("only listed imports of api lead to a higher layer, and the list only shrinks", () => {
  expect(upwardArrows(api.imports, API_LAYERS)).toEqual(API_UPWARD);
});

test("core has no circular imports, including type imports", () => {
  expect(importCircles(core)).toEqual([]);
});

test("openclaw has no circular imports", () => {
  expect(importCircles(openclaw)).toEqual([]);
});

test("rendering templates needs no host: only sync and provisioning write files", () => {
  const lower = openclaw.imports.filter(
    ({ from, to }) => from.startsWith("template/") && /^(host|sync|provisioning|coordination)\//.test(to),
  );
  expect(lower).toEqual([]);
});
