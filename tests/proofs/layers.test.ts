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

/** The rooms (folders) of core, by floor, with the lowest floor first. A room imports from its own floor and from lower floors. */
const CORE_FLOORS = (
  "values config dns schema context db process lists job alert stream idempotency audit organization gateway activity subscription tag " +
  "notification follow approval metrics change http mail memory body-storage budget task run artifact usage agent key webhook board skill " +
  "saved-view inbox people channel push slack"
).split(" ");

/** Imports that lead to a higher floor. Remove an entry once its import is gone; do not add one. */
const CORE_UPWARD: readonly string[] = [
  "context -> db",
  "job -> activity",
  "organization -> activity",
  "organization -> agent",
  "organization -> change",
  "organization -> skill",
  "organization -> webhook",
];

const OPENCLAW_FLOORS = "wire soul template host usage provisioning gateway skill coordination sync onboarding".split(" ");
const OPENCLAW_UPWARD: readonly string[] = [];

const API_FLOORS = "work guidance sign-in edge runtime.ts endpoint.ts mcp openapi routes stream groups.ts app.ts".split(" ");
const API_UPWARD: readonly string[] = ["edge -> endpoint.ts", "edge -> runtime.ts", "routes -> groups.ts"];

const roomOf = (file: string) => file.split("/")[0]!;

function upwardArrows(imports: readonly Import[], floors: readonly string[]): string[] {
  const arrows = imports
    .map(({ from, to }) => [roomOf(from), roomOf(to)] as const)
    .filter(([from, to]) => floors.indexOf(to) > floors.indexOf(from))
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

test("every file of core belongs to a room that has a floor", () => {
  expect([...new Set(core.files.map(roomOf))].filter((room) => !CORE_FLOORS.includes(room))).toEqual([]);
});

test("every file of openclaw belongs to a room that has a floor", () => {
  expect([...new Set(openclaw.files.map(roomOf))].filter((room) => !OPENCLAW_FLOORS.includes(room))).toEqual([]);
});

test("every file of api belongs to a room, or is on the list of files without a room", () => {
  expect([...new Set(api.files.map(roomOf))].filter((room) => !API_FLOORS.includes(room))).toEqual([]);
});

test("only listed imports of core lead to a higher floor, and the list only shrinks", () => {
  expect(upwardArrows(core.imports, CORE_FLOORS)).toEqual(CORE_UPWARD);
});

test("only listed imports of openclaw lead to a higher floor, and the list only shrinks", () => {
  expect(upwardArrows(openclaw.imports, OPENCLAW_FLOORS)).toEqual(OPENCLAW_UPWARD);
});

test("only listed imports of api lead to a higher floor, and the list only shrinks", () => {
  expect(upwardArrows(api.imports, API_FLOORS)).toEqual(API_UPWARD);
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
