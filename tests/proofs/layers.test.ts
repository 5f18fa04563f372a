import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const core = path.resolve(import.meta.dirname, "../../packages/core/src");
const files = globSync("**/*.ts", { cwd: core }).map((file) => file.replaceAll("\\", "/"));

/** Type imports count as well: a reader has to follow them, although they vanish when the code runs. */
const imports = files.flatMap((from) =>
  [...readFileSync(path.join(core, from), "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"\s]+)"/g)]
    .map((match) => path.posix.normalize(path.posix.join(path.posix.dirname(from), match[1]!)))
    .filter((to) => files.includes(to))
    .map((to) => ({ from, to })),
);

/** Files that reach each other by imports, in groups; a file without a circle is a group of one (Tarjan's algorithm). */
function importCircles(): string[][] {
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

/** Folders that may import each other, both ways. Take a pair out when it is solved; do not add one. */
const MUTUAL_FOLDERS: readonly string[] = ["agent <-> gateway"];

test("no circle of imports in core has more than three files, type imports included", () => {
  expect(importCircles().filter((group) => group.length > 3)).toEqual([]);
});

test("the folders of core that import each other are those of a list that only shrinks", () => {
  // A table file belongs to the database layer: foreign keys and joins cross folders by their nature.
  const folderPairs = new Set(
    imports
      .filter(({ from, to }) => from.includes("/") && to.includes("/") && !to.endsWith(".sql.ts"))
      .map(({ from, to }) => [from.split("/")[0], to.split("/")[0]])
      .filter(([from, to]) => from !== to)
      .map((pair) => pair.join(" -> ")),
  );
  const mutual = [...folderPairs].filter((pair) => {
    const [from, to] = pair.split(" -> ") as [string, string];
    return from < to && folderPairs.has(`${to} -> ${from}`);
  });
  expect(mutual.map((pair) => pair.replace("->", "<->")).toSorted()).toEqual(MUTUAL_FOLDERS);
});

test("the wire client of OpenClaw knows neither the database nor the context", () => {
  const allowed = /^(openclaw\/|errors\.ts$|address\.ts$|dns\/|concurrency\.ts$|json\.ts$|text\.ts$|timeout\.ts$)/;
  expect(imports.filter(({ from, to }) => from.startsWith("openclaw/") && !allowed.test(to))).toEqual([]);
});

test("rendering templates needs no host: only sync and provisioning write files", () => {
  const lower = imports.filter(
    ({ from, to }) => from.startsWith("template/") && /^(host|sync|provisioning|coordination)\//.test(to),
  );
  expect(lower).toEqual([]);
});
