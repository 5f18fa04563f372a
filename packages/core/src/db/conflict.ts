const UNIQUE_VIOLATION = "23505";
const FOREIGN_KEY_VIOLATION = "23503";
const LOST_LOCK = ["55P03", "40P01"];

/** What the database says of the statement that it refused; Drizzle wraps it. */
const refusalOf = (error: unknown) =>
  ((error instanceof Error ? error.cause : null) ?? {}) as { code?: string; constraint?: string };

/** Name of the unique index that refused a write, or null for any other error. The index decides uniqueness; nothing is read first. */
export function violatedIndex(error: unknown): string | null {
  const { code, constraint } = refusalOf(error);
  return code === UNIQUE_VIOLATION ? (constraint ?? "") : null;
}

/** Whether a write named a row that is not there: somebody removed it after it was read. */
export const namesMissingRow = (error: unknown): boolean => refusalOf(error).code === FOREIGN_KEY_VIOLATION;

/** Whether a lock was waited for in vain: too long, or in a circle. */
export const lostLock = (error: unknown): boolean => LOST_LOCK.includes(refusalOf(error).code ?? "");

/** Runs a write and turns the violation of a named unique index into the error that the caller should get. */
export async function mapConflict<T>(errors: Readonly<Record<string, () => Error>>, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const index = violatedIndex(error);
    const known = index === null ? undefined : errors[index];
    throw known ? known() : error;
  }
}
