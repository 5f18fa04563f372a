import { isDeepStrictEqual } from "node:util";

/**
 * The sent values that differ from the stored ones, without keys that were not sent (undefined). When the result is empty,
 * the caller writes nothing, so that `updated_at` moves only on real changes.
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

/** Whether two values are the same with their keys in the same order, for JSON that people write. */
export const isSameInOrder = (value: unknown, other: unknown): boolean =>
  isDeepStrictEqual(value, other) && JSON.stringify(value) === JSON.stringify(other);

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0;
