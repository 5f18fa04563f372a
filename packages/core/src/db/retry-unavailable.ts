import { setTimeout as pause } from "node:timers/promises";
import { isDatabaseUnavailable } from "./query-error.ts";

const RETRY_INTERVAL_MS = 500;
/** As long as the lease of a job: after it, another worker may have taken over what this one would write. */
const MAX_WAIT_MS = 60_000;

/** Repeats a write while the database is unavailable. The write must be idempotent: it may have been committed already. */
export async function withDatabaseRetry<T>(write: () => Promise<T>): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() - start > MAX_WAIT_MS) throw error;
      await pause(RETRY_INTERVAL_MS);
    }
  }
}
