import { Environment } from "./environment.ts";
import { listRemoved } from "./removed-settings.ts";

/** Shorter names, such as HOST, are similar to too many variables of other programs. */
const MIN_LENGTH = 6;
const MAX_EDITS = 2;

/** Finds variables that are not settings, but whose name is similar to a setting that is not set. */
export function listMisspelt(environment: Readonly<Record<string, string | undefined>>): { name: string; meant: string }[] {
  const isSet = (name: string) => Boolean(environment[name]?.trim());
  const names = Object.keys(Environment.shape).filter((name) => name.length >= MIN_LENGTH);
  const candidates = names.filter((name) => !isSet(name));
  const removed = new Set(listRemoved(environment).map(({ name }) => name));
  return Object.keys(environment).flatMap((name) => {
    if (!isSet(name) || name in Environment.shape || removed.has(name)) return [];
    const meant = candidates.find((candidate) => candidate[0] === name[0] && isSimilar(name, candidate));
    return meant ? [{ name, meant }] : [];
  });
}

/** Checks whether the names differ by at most two letters that were added, left out, replaced, or swapped with their neighbour. */
function isSimilar(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > MAX_EDITS) return false;
  // This computes the optimal string alignment distance. Only the last two rows of the matrix are kept.
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      const exchanged = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, exchanged));
    }
    [before, row] = [row, next];
  }
  return row[other.length]! <= MAX_EDITS;
}
