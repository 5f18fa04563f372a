/** Returns whether a unique index has refused a row. The library passes on the error of the database. */
export const isDuplicate = (error: unknown): boolean => /unique|duplicate/i.test(String((error as Error).cause ?? error));
