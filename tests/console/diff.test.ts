import { findCounterparts, parsePatch } from "@board/console/src/file/diff.ts";
import { expect, test } from "vitest";

const shown = (text: string) =>
  parsePatch(text).map(({ path, notes, lines, added, removed }) => ({ path, notes, lines: lines.length, added, removed }));

const HUNK = "@@ -1 +1 @@\n-old\n+new\n";

test("a diff of git shows each changed file once, with its lines", () => {
  const text = `diff --git a/src/one.ts b/src/one.ts
index 1..2 100644
--- a/src/one.ts
+++ b/src/one.ts
${HUNK}diff --git a/two.ts b/two.ts
new file mode 100644
--- /dev/null
+++ b/two.ts
@@ -0,0 +1,2 @@
+--- a/looks like a header
+++ b/as does this
diff --git a/three.ts b/three.ts
deleted file mode 100644
--- a/three.ts
+++ /dev/null
@@ -1 +0,0 @@
-gone
`;
  expect(shown(text)).toEqual([
    { path: "src/one.ts", notes: [], lines: 2, added: 1, removed: 1 },
    { path: "two.ts", notes: ["new"], lines: 2, added: 2, removed: 0 },
    { path: "three.ts", notes: ["removed"], lines: 1, added: 0, removed: 1 },
  ]);
});

test("files whose diff has no lines are shown too: binary, renamed and empty files, and files with a changed mode", () => {
  const text = `diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/old name.ts b/new.ts
similarity index 100%
rename from old name.ts
rename to new.ts
diff --git a/empty b/empty
new file mode 100755
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/data b/data
index 1..2
GIT binary patch
literal 3
KcmZQzfB*mh

`;
  const none = { lines: 0, added: 0, removed: 0 };
  expect(shown(text)).toEqual([
    { path: "logo.png", notes: ["binary, so no lines are shown"], ...none },
    { path: "new.ts", notes: ["renamed from old name.ts"], ...none },
    { path: "empty", notes: ["new, with mode 100755"], ...none },
    { path: "run.sh", notes: ["mode before: 100644", "mode now: 100755"], ...none },
    { path: "data", notes: ["binary, so no lines are shown"], ...none },
  ]);
});

test("a path with spaces or characters of other alphabets is shown as it is named", () => {
  const text = String.raw`diff --git "a/gr\303\266\303\237e \"x\".txt" "b/gr\303\266\303\237e \"x\".txt"
Binary files differ
diff --git a/two words.txt b/two words.txt
Binary files a/two words.txt and b/two words.txt differ
diff --git "a/caf\303\251.txt" "b/caf\303\251.txt"
--- "a/caf\303\251.txt"
+++ "b/caf\303\251.txt"
`;
  expect(parsePatch(text).map(({ path }) => path)).toEqual(['größe "x".txt', "two words.txt", "café.txt"]);
});

test("a diff of another program than git is read, and a text that is no diff has no files", () => {
  expect(shown(`--- one.txt\t2026-01-01\n+++ one.txt\t2026-01-02\n${HUNK}`)).toEqual([
    { path: "one.txt", notes: [], lines: 2, added: 1, removed: 1 },
  ]);
  expect(parsePatch("Just a text.\n@@ nothing @@\n-- \n")).toEqual([]);
});

test("a changed line is compared with the line at the same position in its own block of changes", () => {
  const text = "--- a/a\n+++ b/a\n@@ -1,5 +1,6 @@\n-one\n-two\n+ONE\n+TWO\n+three\n same\n-four\n+FOUR\n-five\n+FIVE\n";
  const [file] = parsePatch(text);
  const pairs = findCounterparts(file!.lines);
  expect(file!.lines.map((line) => [line.text, pairs.get(line)?.text ?? null])).toEqual([
    ["one", "ONE"],
    ["two", "TWO"],
    ["ONE", "one"],
    ["TWO", "two"],
    ["three", null],
    ["same", null],
    ["four", "FOUR"],
    ["FOUR", "four"],
    ["five", "FIVE"],
    ["FIVE", "five"],
  ]);
});
