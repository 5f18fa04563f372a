import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && existsSync(path.join(root, file)));
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** Returns the anchors of a document's headings, as GitHub generates them. */
function anchorsOf(document: string): Set<string> {
  const seen = new Map<string, number>();
  const prose = read(document).replace(/^```.*?^```/gms, "");
  return new Set(
    [...prose.matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading]) => {
      const anchor = heading!
        .trim()
        .toLowerCase()
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replace(/\s/g, "-");
      const earlier = seen.get(anchor) ?? 0;
      seen.set(anchor, earlier + 1);
      return earlier === 0 ? anchor : `${anchor}-${earlier}`;
    }),
  );
}

/** Returns why a link to a heading cannot be followed, or null if it can. */
function problemOf(document: string, anchor: string | undefined): string | null {
  if (!existsSync(path.join(root, document))) return "no such file";
  if (anchor === undefined || !document.endsWith(".md")) return null;
  return anchorsOf(document).has(anchor) ? null : "no such heading";
}

test("every citation of a document in code leads to a heading that exists", () => {
  const code = tracked.filter((file) => /^(packages|infra|scripts|tests)\/.*\.(ts|mjs|cjs)$/.test(file));
  const broken: string[] = [];
  let citations = 0;
  for (const file of code) {
    // A citation may be broken over two lines of a comment.
    const text = read(file).replace(/\n\s*\*\s/g, " ");
    for (const [citation, document, anchor] of text.matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)) {
      citations++;
      const problem = problemOf(document!, anchor);
      if (problem) broken.push(`${file}: ${citation}: ${problem}`);
    }
  }
  expect(broken).toEqual([]);
  expect(citations).toBeGreaterThan(0);
});

test("every relative link of a document leads to a file and a heading that exist", () => {
  const broken: string[] = [];
  for (const file of tracked.filter((name) => name.endsWith(".md"))) {
    for (const [, target] of read(file).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)) {
      const [name, anchor] = target!.split("#") as [string, string?];
      const document = name === "" ? file : path.posix.join(path.posix.dirname(file), name);
      const problem = problemOf(document, anchor);
      if (problem) broken.push(`${file}: ${target}: ${problem}`);
    }
  }
  expect(broken).toEqual([]);
});

test("every table of a document has a header, without which its rows are shown as text", () => {
  const isRow = (line = "") => line.trimStart().startsWith("|");
  const bare = tracked
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => {
      const lines = read(file)
        .replace(/^ *```.*?^ *```/gms, "")
        .split("\n");
      const first = lines.flatMap((line, at) => (isRow(line) && !isRow(lines[at - 1]) ? [at] : []));
      return first
        .filter((at) => !/^\s*\|[\s:|-]+\|$/.test(lines[at + 1] ?? ""))
        .map((at) => `${file}: ${lines[at]!.slice(0, 40)}`);
    });
  expect(bare).toEqual([]);
});

test("no comment cites a document that is not in the repository", () => {
  const pattern = /\bcontract (?:\S+\.md|§)|\.md §|\bspec\.md\b/;
  const citing = tracked.filter((file) => /\.(ts|mjs|cjs|md)$/.test(file) && !file.endsWith("citations.test.ts"));
  expect(citing.filter((file) => pattern.test(read(file)))).toEqual([]);
});
