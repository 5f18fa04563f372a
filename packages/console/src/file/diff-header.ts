/** The first line of each file in a diff of git. Other programs have no such line. */
export const GIT_HEADER = "diff --git ";

const ESCAPE = /\\(?:([0-7]{3})|(.))/g;
const ESCAPED: Readonly<Record<string, string>> = { n: "\n", t: "\t" };

/** Reads a path as git writes it: if it has unusual characters, it is in quotes, with its bytes in octal. */
function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const inner = text.slice(1, text.endsWith('"') ? -1 : undefined);
  const bytes: number[] = [];
  const add = (part: string) => {
    // One by one, because a call with too many arguments fails, and an agent may write a path of any length.
    for (const byte of new TextEncoder().encode(part)) bytes.push(byte);
  };
  let from = 0;
  for (const { index, 0: all, 1: octal, 2: other } of inner.matchAll(ESCAPE)) {
    add(inner.slice(from, index));
    if (octal === undefined) add(ESCAPED[other!] ?? other!);
    else bytes.push(Number.parseInt(octal, 8));
    from = index + all.length;
  }
  add(inner.slice(from));
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const withoutSide = (path: string): string => path.replace(/^[ab]\//, "");

/** The path in a line that begins with `---` or `+++`, without git's prefix and without the date that other programs add. */
export function pathOf(line: string): string | null {
  const path = line.slice(4).split("\t")[0]!.trim();
  return path === "/dev/null" ? null : withoutSide(unquote(path));
}

/** The path in git's first line, which has the old and the new path. If these differ, later lines have the new path again. */
export function pathOfGit(line: string): string {
  const both = line.slice(GIT_HEADER.length);
  return withoutSide(unquote(both.slice(Math.ceil(both.length / 2))));
}

/** The new path, if this line of git's header has one. */
export function newPathOf(line: string): string | null {
  const found = /^(?:rename|copy) to (.+)$/.exec(line);
  return found && unquote(found[1]!);
}

const NOTES: readonly (readonly [RegExp, string])[] = [
  [/^new file mode 100644$/, "new"],
  [/^new file mode (\d+)$/, "new, with mode "],
  [/^deleted file mode \d+$/, "removed"],
  [/^old mode (\d+)$/, "mode before: "],
  [/^new mode (\d+)$/, "mode now: "],
  [/^rename from (.+)$/, "renamed from "],
  [/^copy from (.+)$/, "copied from "],
  [/^(?:Binary files .* differ|GIT binary patch)$/, "binary, so no lines are shown"],
];

/** What a line of git's header says about the file, in words. */
export function noteOf(line: string): string | null {
  for (const [pattern, words] of NOTES) {
    const found = pattern.exec(line);
    if (found) return words + unquote(found[1] ?? "");
  }
  return null;
}
