import { DrizzleQueryError } from "drizzle-orm";
import { DomainError } from "../values/errors.ts";
import { DatabaseConnectError } from "./pool.ts";

const UNIQUE_VIOLATION = "23505";
const FOREIGN_KEY_VIOLATION = "23503";
const LOCK_NOT_AVAILABLE = "55P03";
const DEADLOCK_DETECTED = "40P01";

/** Returns the error of the database server, which Drizzle wraps. */
const postgresErrorOf = (error: unknown) =>
  ((error instanceof Error ? error.cause : null) ?? {}) as { code?: string; constraint?: string; detail?: string };

/**
 * Returns the name of the unique index that a write violated; null for any other error. Only the index decides whether a value is
 * unique, so the code does not have to read before it writes.
 */
export function violatedUniqueIndex(error: unknown): string | null {
  const { code, constraint } = postgresErrorOf(error);
  return code === UNIQUE_VIOLATION ? (constraint ?? "") : null;
}

/** Checks whether a write failed because it references a row that does not exist. */
export const isForeignKeyViolation = (error: unknown): boolean => postgresErrorOf(error).code === FOREIGN_KEY_VIOLATION;

/**
 * Returns the error to report to the client if a trigger refused a text because the organization's text budget is used up; null for
 * any other error.
 */
export function toTextBudgetError(error: unknown): DomainError | null {
  const { constraint, detail = "" } = postgresErrorOf(error);
  if (constraint !== "organization_text_bytes") return null;
  const [used_bytes = 0, limit_bytes = 0] = detail.split(" ").map(Number);
  return new DomainError(
    "conflict",
    `The organization has no room for more text: ${used_bytes} of ${limit_bytes} bytes are used. Remove what is no longer needed.`,
    { fields: { used_bytes, limit_bytes } },
  );
}

/** Checks whether PostgreSQL ended a transaction to resolve a deadlock. */
const isDeadlock = (error: unknown): boolean => postgresErrorOf(error).code === DEADLOCK_DETECTED;

/** Checks whether a lock was not acquired, because of `lock_timeout` or a deadlock. */
export const isLockFailure = (error: unknown): boolean => isDeadlock(error) || postgresErrorOf(error).code === LOCK_NOT_AVAILABLE;

/**
 * SQLSTATEs of a server that cannot serve requests: connection exceptions, shutdown and start, read-only after a failover, ended
 * idle transactions, lack of resources, and system errors.
 */
const UNAVAILABLE_STATES = /^(08\w{3}|57P0[1-5]|25P0[34]|25006|53\w{3}|58\w{3})$/;
const STATEMENT_TIMEOUT = "57014";
const SYSTEM_CODES = new Set("ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH".split(" "));
/** Messages of the drivers' connection errors, which have no code. */
const CONNECTION_LOST = /^connection (terminated|ended)|connection error and is not queryable|client was closed and is not/i;
/** The wait before a retry, in seconds. A restarting database usually answers again after this time. */
const RETRY_AFTER = 5;

/** Checks whether the database is unavailable, so that a retry may succeed. Errors of other systems never count. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseConnectError) return true;
  if (!(error instanceof DrizzleQueryError)) return false;
  const { cause } = error;
  if (cause instanceof DatabaseConnectError) return true;
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  if (code !== undefined) return UNAVAILABLE_STATES.test(code) || SYSTEM_CODES.has(code);
  // Neon's driver rejects with the `ErrorEvent` of its socket, which is not an `Error`.
  return CONNECTION_LOST.test(message ?? "") || (cause !== undefined && !(cause instanceof Error));
}

/**
 * Returns the error to report to the client if the database is unavailable, a statement was too slow, or a lock was not acquired;
 * null for any other error.
 */
export function toDatabaseUnavailable(error: unknown): DomainError | null {
  const isTooSlow = postgresErrorOf(error).code === STATEMENT_TIMEOUT;
  if (!isDatabaseUnavailable(error) && !isTooSlow && !isLockFailure(error)) return null;
  return new DomainError("database_unavailable", "Service Unavailable", { retry_after_seconds: RETRY_AFTER });
}

/** Runs a write. If it violates a unique index of `errors`, throws the error that belongs to the index. */
export async function mapUniqueViolation<T>(errors: Readonly<Record<string, () => Error>>, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const index = violatedUniqueIndex(error);
    const toError = index === null ? undefined : errors[index];
    throw toError ? toError() : error;
  }
}
