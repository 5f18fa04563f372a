import { GIT_HEADER, newPathOf, noteOf, pathOf, pathOfGit } from "./diff-header.ts";

/** A line of a unified diff, with its number on each side where it exists. */
export interface PatchLine {
  sign: "+" | "-" | " ";
  text: string;
  old: number | null;
  new: number | null;
}

export interface PatchFile {
  path: string;
  /** What happened to the file apart from its lines, such as a new name or mode. */
  notes: readonly string[];
  /** The headers of hunks, by the index of the line that follows them. */
  hunks: ReadonlyMap<number, string>;
  lines: readonly PatchLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

interface Reading extends PatchFile {
  notes: string[];
  hunks: Map<number, string>;
  lines: PatchLine[];
}

const newFile = (path: string): Reading => ({ path, notes: [], hunks: new Map(), lines: [], added: 0, removed: 0 });

/**
 * Parses a unified diff. A text that is not a diff yields no files, and is then shown as plain text. A hunk's end is found by the
 * lengths in its header, because a removed line may look like a file header.
 */
export function parsePatch(text: string): PatchFile[] {
  const files: Reading[] = [];
  let current: Reading | null = null;
  let before: string | null = null;
  // A file that was only renamed, or that is binary, has nothing but git's header.
  let isGitHeader = false;
  let [old, next, oldLeft, newLeft] = [0, 0, 0, 0];
  for (const line of text.split("\n")) {
    if (current && (oldLeft > 0 || newLeft > 0)) {
      const sign = line[0] ?? " ";
      if (sign === "\\") continue;
      if (sign === "+") {
        current.lines.push({ sign, text: line.slice(1), old: null, new: next++ });
        current.added++;
        newLeft--;
      } else if (sign === "-") {
        current.lines.push({ sign, text: line.slice(1), old: old++, new: null });
        current.removed++;
        oldLeft--;
      } else {
        current.lines.push({ sign: " ", text: line.slice(1), old: old++, new: next++ });
        oldLeft--;
        newLeft--;
      }
      continue;
    }
    const hunk = HUNK.exec(line);
    if (line.startsWith(GIT_HEADER)) {
      files.push((current = newFile(pathOfGit(line))));
      isGitHeader = true;
    } else if (hunk && current) {
      [old, oldLeft, next, newLeft] = [Number(hunk[1]), Number(hunk[2] ?? 1), Number(hunk[3]), Number(hunk[4] ?? 1)];
      current.hunks.set(current.lines.length, line);
    } else if (line.startsWith("--- ")) before = pathOf(line);
    else if (line.startsWith("+++ ")) {
      const path = pathOf(line) ?? before ?? "a file";
      if (current && isGitHeader) current.path = path;
      else files.push((current = newFile(path)));
      isGitHeader = false;
    } else if (current && isGitHeader) {
      current.path = newPathOf(line) ?? current.path;
      const note = noteOf(line);
      if (note !== null) current.notes.push(note);
    }
  }
  return files;
}

/** Returns the part of a line that differs from its counterpart: everything between their common beginning and common end. */
export function changedPart(line: string, other: string): readonly [start: number, end: number] {
  let start = 0;
  const shorter = Math.min(line.length, other.length);
  while (start < shorter && line[start] === other[start]) start++;
  let end = 0;
  while (end < shorter - start && line.at(-1 - end) === other.at(-1 - end)) end++;
  return [start, line.length - end];
}

/**
 * Returns for each changed line the line that it replaced or was replaced by: in a block of removed lines that are followed by added
 * lines, the line at the same position.
 */
export function findCounterparts(lines: readonly PatchLine[]): ReadonlyMap<PatchLine, PatchLine> {
  const found = new Map<PatchLine, PatchLine>();
  const skip = (from: number, sign: PatchLine["sign"]) => {
    let end = from;
    while (lines[end]?.sign === sign) end++;
    return end;
  };
  for (let start = 0; start < lines.length; ) {
    const removed = skip(start, " ");
    const added = skip(removed, "-");
    const end = skip(added, "+");
    for (let n = 0; n < Math.min(added - removed, end - added); n++) {
      const [old, next] = [lines[removed + n]!, lines[added + n]!];
      found.set(old, next).set(next, old);
    }
    start = end;
  }
  return found;
}
