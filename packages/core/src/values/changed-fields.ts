import { isDeepStrictEqual } from "node:util";

/**
 * Returns the sent values that differ from the stored ones. An undefined value was not sent. If the result is empty, the caller
 * should write nothing, so that `updated_at` changes only with real changes.
 */
export function changedFields<Row extends object>(
  stored: Row,
  sent: { [K in keyof Row]?: Row[K] | undefined },
  isSame: (value: unknown, other: unknown) => boolean = isDeepStrictEqual,
): Partial<Row> {
  const changed: Partial<Row> = {};
  for (const key of Object.keys(sent) as (keyof Row)[]) {
    const value = sent[key];
    if (value !== undefined && !isSame(value, stored[key])) changed[key] = value;
  }
  return changed;
}

/** Checks whether two values are equal, including the order of their keys. It is for JSON that people write. */
export const isSameInOrder = (value: unknown, other: unknown): boolean =>
  isDeepStrictEqual(value, other) && JSON.stringify(value) === JSON.stringify(other);

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0;
