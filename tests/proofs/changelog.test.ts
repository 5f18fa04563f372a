/** CHANGELOG.md keeps the form that `npm run release` and readers rely on. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const changelog = readFileSync(path.resolve(import.meta.dirname, "../../CHANGELOG.md"), "utf8");
const versions = changelog.split(/^## /m).slice(1);
const HEADINGS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

test("each version has each heading at most once, in the order of Keep a Changelog", () => {
  for (const version of versions) {
    const headings = [...version.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading!);
    expect(headings, version.split("\n", 1)[0]).toEqual(HEADINGS.filter((heading) => headings.includes(heading)));
  }
});

test("no entry is repeated, and no blank line cuts a list of entries", () => {
  const entries = changelog.match(/^- .*(?:\n {2}.*)*/gm)!;
  expect(entries.filter((entry, index) => entries.indexOf(entry) !== index)).toEqual([]);
  expect(changelog).not.toMatch(/^[- ] .*\n\n- /m);
});
