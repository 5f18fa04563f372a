/** Checks what examples/README.md says about the examples. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { EXAMPLES } from "./example-fixture.ts";

const files = readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts"));
const read = (...at: string[]) => readFileSync(path.join(...at), "utf8");

test("the tables of examples/README.md list each example once", () => {
  const listed = [...read(EXAMPLES, "README.md").matchAll(/^\| \[([\w-]+\.ts)\]\(\1\) \|/gm)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual(files.toSorted());
});

test("each example says in two lines what it shows and how to run it, and fits on a page", () => {
  for (const name of files) {
    const [what, how, code, ...rest] = read(EXAMPLES, name).trimEnd().split("\n");
    expect(what, name).toMatch(/^\/\/ \S.+\.$/);
    expect(how, name).toMatch(new RegExp(`^// Run: (?:[A-Z_]+=\\S+ )*node examples/${name.replace(".", "\\.")}`));
    expect(code, name).not.toMatch(/^\/\//);
    expect(rest.length + 3, name).toBeLessThanOrEqual(60);
  }
});

test("a test runs each example", () => {
  const tests = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".test.ts"));
  const text = tests.map((file) => read(import.meta.dirname, file)).join("\n");
  const run = new Set([...text.matchAll(/examples\.(?:run|start)\("([\w-]+)"/g)].map(([, name]) => `${name}.ts`));
  expect(files.filter((name) => !run.has(name))).toEqual([]);
});
