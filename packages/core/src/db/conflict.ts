const UNIQUE_VIOLATION = "23505";

/** Name of the unique index that refused a write, or null for any other error. The index decides uniqueness; nothing is read first. */
export function violatedIndex(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : null;
  const { code, constraint } = (cause ?? {}) as { code?: string; constraint?: string };
  return code === UNIQUE_VIOLATION ? (constraint ?? "") : null;
}

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
