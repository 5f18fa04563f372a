import { setTimeout as pause } from "node:timers/promises";
import { isDatabaseUnavailable, isLockFailure } from "./query-error.ts";

const RETRY_INTERVAL_MS = 500;
/**
 * The default time limit of the retries. It is longer than a job's lease, so at the end another worker may have taken over the job
 * whose result this write stores.
 */
const MAX_WAIT_MS = 60_000;

/**
 * Repeats a write while the database is unavailable or cannot give it a lock. The write must be idempotent, because an attempt
 * that failed may have been committed.
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

/** Time for the server to finish a statement whose connection was lost, so that the undo runs after that statement. */
const LOST_STATEMENT_MS = 500;
const MAX_UNDO_MS = 2_000;

/**
 * Runs a statement. If the connection is lost before the answer, the statement may have been committed, so `undo` runs before the
 * error is thrown.
 */
export async function undoIfConnectionLost<T>(statement: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    await pause(LOST_STATEMENT_MS);
    // If the undo fails too, the lease or wake-up expires later, and another worker takes the job.
    await withDatabaseRetry(undo, MAX_UNDO_MS).catch(() => {});
    throw error;
  }
}
