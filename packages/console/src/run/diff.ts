interface DiffLine {
  sign: "+" | "-" | " ";
  text: string;
}

/** If there are more pairs of lines to compare than this, all of the lines count as replaced, because comparing takes too long. */
const MAX_PAIRS = 250_000;
/** Number of unchanged lines that are shown before and after the changes. */
const CONTEXT = 3;

/** Compares two texts by line. Long unchanged parts at both ends are left out. */
export function diffLines(before: string | null, after: string): DiffLine[] {
  const old = linesOf(before);
  const next = linesOf(after);
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ sign: " ", text }));
  return [
    ...same(old.slice(Math.max(0, start - CONTEXT), start)),
    ...compare(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...same(old.slice(old.length - end, Math.min(old.length, old.length - end + CONTEXT))),
  ];
}

const linesOf = (text: string | null): string[] => (text ? text.replace(/\n$/, "").split("\n") : []);

/** Finds the shortest list of changed lines, by the longest common subsequence. */
function compare(old: readonly string[], next: readonly string[]): DiffLine[] {
  const removed = old.map((text): DiffLine => ({ sign: "-", text }));
  const added = next.map((text): DiffLine => ({ sign: "+", text }));
  if (old.length * next.length > MAX_PAIRS) return [...removed, ...added];
  const width = next.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row--)
    for (let column = next.length - 1; column >= 0; column--)
      common[row * width + column] =
        old[row] === next[column]
          ? common[(row + 1) * width + column + 1]! + 1
          : Math.max(common[(row + 1) * width + column]!, common[row * width + column + 1]!);
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < next.length) {
    if (old[row] === next[column]) {
      lines.push({ sign: " ", text: old[row++]! });
      column++;
    } else if (common[(row + 1) * width + column]! >= common[row * width + column + 1]!) lines.push(removed[row++]!);
    else lines.push(added[column++]!);
  }
  return [...lines, ...removed.slice(row), ...added.slice(column)];
}
