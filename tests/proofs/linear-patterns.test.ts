import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { type Growth, growthOf } from "./pattern-growth.ts";

const root = path.resolve(import.meta.dirname, "../..");
const files = globSync("packages/*/src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));

/** Patterns whose steps may grow faster than the text. Each needs a reason why it cannot block the service. Avoid adding one. */
const ALLOWED: readonly string[] = [];

/** Files that build patterns at run time, and what they build them from. */
const BUILT_AT_RUN_TIME: Readonly<Record<string, string>> = {
  "packages/api/src/edge/path.ts": "paths of the service's own operations, without loops inside of a segment",
  "packages/core/src/lists/search-words.ts": "one class of fixed characters",
  "packages/core/src/memory/chat-notifications.ts": "fixed words between blanks, anchored at both ends",
  "packages/openclaw/src/template/token-line.ts": "the literal for line breaks, which has no loop",
  "packages/runner/src/policy.ts": "patterns of a person's own file, for texts of at most 1,000 characters",
};

const sources = new Map(files.map((file) => [file, readFileSync(path.join(root, file), "utf8")]));

interface Node {
  type?: string;
  regex?: { pattern: string; flags: string };
}

/** Yields the regular expression literals below a node of a syntax tree. */
function* literalsIn(node: unknown): Generator<{ pattern: string; flags: string }> {
  if (typeof node !== "object" || node === null) return;
  const { type, regex } = node as Node;
  if (type === "Literal" && regex) yield regex;
  else for (const child of Object.values(node)) yield* literalsIn(child);
}

test("no regular expression of the service takes more than linear time", () => {
  const literals = [...sources].flatMap(([file, text]) =>
    [...literalsIn(parseAst(text, { lang: "ts" }))].map(({ pattern, flags }) => ({ file, pattern, flags })),
  );
  expect(literals.length).toBeGreaterThan(150);
  const slow = literals.flatMap(({ file, pattern, flags }) => {
    const growth = growthOf(pattern, flags);
    return growth === "linear" ? [] : [`${file}: /${pattern}/${flags} is ${growth}`];
  });
  expect(slow).toEqual(ALLOWED);
});

test("patterns are built while the service runs only in files of a known list", () => {
  const building = [...sources].flatMap(([file, text]) => (/\bRegExp\(/.test(text) ? [file] : []));
  expect(building.toSorted()).toEqual(Object.keys(BUILT_AT_RUN_TIME));
});

test.each<[RegExp, Growth]>([
  [/^\d+$/, "linear"],
  [/"([^"]+)"/, "linear"],
  [/\s+/, "linear"],
  [/^[-*\s]+/, "linear"],
  [/(?:^|;)\s*Root=(\w+)\s*(?:;|$)/, "linear"],
  [/^(\w+):[ \t]+(.*)$/gm, "linear"],
  [/\/+$/, "polynomial"],
  [/\[([^\]]*)\]/, "polynomial"],
  [/%.*$/, "polynomial"],
  [/agent.*not found/i, "polynomial"],
  [/^#{1,6}\s+(.*?)[\s#]*$/, "polynomial"],
  [/^(a*)*$/, "exponential"],
  [/^(?:a|[ab])+$/, "exponential"],
  [/^(\d+(\.\d+)?(ms|s)?)+$/, "exponential"],
])("the time that the pattern %s can take is found to be %s", (pattern, growth) => {
  expect(growthOf(pattern.source, pattern.flags)).toBe(growth);
});
