import { isDeepStrictEqual } from "node:util";

/**
 * The sent values that really differ from the stored ones; keys that were not sent (undefined) are left out. Empty means
 * that nothing is to be written, so that `updated_at` moves on real changes only.
 */
export function changesOf<Row extends object>(stored: Row, sent: { [K in keyof Row]?: Row[K] | undefined }): Partial<Row> {
  const changed: Partial<Row> = {};
  for (const key of Object.keys(sent) as (keyof Row)[]) {
    const value = sent[key];
    if (value !== undefined && !isDeepStrictEqual(value, stored[key])) changed[key] = value;
  }
  return changed;
}

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0;
