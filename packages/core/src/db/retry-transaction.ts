import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type Context, type FinalWrites, runTransaction } from "../context/context.ts";
import { isLockFailure } from "./query-error.ts";
import { actingActor } from "./change-actor.ts";

/**
 * Shorter than PostgreSQL's `deadlock_timeout` of one second, so that in a deadlock this transaction gives up instead of the
 * other one.
 */
const LOCK_TIMEOUT_MS = 300;
const MAX_LOCK_TIMEOUT_ATTEMPTS = 20;

/**
 * Runs a transaction that removes a whole tree of rows. It locks from the root down, while ordinary changes lock from a leaf up
 * (a task, then its board by foreign key), so the two can deadlock. Therefore this transaction only waits briefly for a lock, and
 * then retries.
 */
export async function withLockTimeoutRetry<C extends Context, T>(ctx: C, work: (ctx: C) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runTransaction(ctx, async (ctx) => {
        await ctx.db.execute(sql`select set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true), ${actingActor(ctx)}`);
        return work(ctx);
      });
    } catch (error) {
      if (attempt === MAX_LOCK_TIMEOUT_ATTEMPTS || !isLockFailure(error)) throw error;
      await pause(Math.random() * LOCK_TIMEOUT_MS);
    }
  }
}

const MAX_ATTEMPTS = 5;

/**
 * Thrown inside `withDeadlockRetry`, before anything is written, if the transaction has locked too few rows. The retry must take
 * locks that keep others from adding such rows; otherwise it may lose the same race every time.
 */
export class RetryTransaction extends Error {
  override name = "RetryTransaction";
}

/**
 * Like `transaction`, for work that locks many rows. It is also repeated after a lock timeout and after `RetryTransaction`, and
 * inside the transaction of a whole request. `isRetry` is true from the second attempt on, for work that then locks more rows first.
 */
export async function withDeadlockRetry<C extends Context, T>(
  ctx: C,
  work: (ctx: C, isRetry: boolean) => Promise<T | FinalWrites<T>>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runTransaction(ctx, (ctx) => work(ctx, attempt > 1));
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !(isLockFailure(error) || error instanceof RetryTransaction)) throw error;
    }
  }
}
