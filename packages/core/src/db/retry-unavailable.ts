import { setTimeout as pause } from "node:timers/promises";
import { isDatabaseUnavailable, isLockFailure } from "./query-error.ts";

const RETRY_INTERVAL_MS = 500;
/** As long as the lease of a job: after it, another worker may have taken over what this one would write. */
const MAX_WAIT_MS = 60_000;

/**
 * Repeats a write while the database is unavailable, or has undone it to end a deadlock. The write must be idempotent: it may
 * have been committed already.
 */
export async function withDatabaseRetry<T>(write: () => Promise<T>, max_wait_ms = MAX_WAIT_MS): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return await write();
    } catch (error) {
      const mayWorkLater = isDatabaseUnavailable(error) || isLockFailure(error);
      if (!mayWorkLater || performance.now() - start > max_wait_ms) throw error;
      await pause(RETRY_INTERVAL_MS);
    }
  }
}

/** The server may still be working on a statement whose connection is gone. */
const LOST_STATEMENT_MS = 500;
const MAX_UNDO_MS = 2_000;

/** Runs a statement. If it may have been committed but its answer was lost, undoes it before the error is thrown. */
export async function undoIfLost<T>(statement: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    await pause(LOST_STATEMENT_MS);
    // While the database stays unreachable, what was taken is free again once it counts as lost.
    await withDatabaseRetry(undo, MAX_UNDO_MS).catch(() => {});
    throw error;
  }
}
