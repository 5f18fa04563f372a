import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type Context, type FinalWrites, transaction } from "../context/context.ts";
import { isLockFailure } from "./query-error.ts";
import { actingActor } from "./change-actor.ts";

/** Shorter than PostgreSQL's `deadlock_timeout` of one second, so that of two transactions in a deadlock this one yields. */
const LOCK_TIMEOUT_MS = 300;
const MAX_LOCK_TIMEOUT_ATTEMPTS = 20;

/**
 * A transaction that removes a whole tree of rows. It locks from the root down while ordinary changes lock from a leaf up
 * (a task, then by foreign key its board), so the two can deadlock. This one sets `lock_timeout`: it rolls back after a
 * short wait, lets the others finish, and retries.
 */
export async function withLockTimeoutRetry<C extends Context, T>(ctx: C, work: (ctx: C) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(ctx, async (ctx) => {
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
 * Thrown inside `withDeadlockRetry`, before anything is written, when the transaction has locked too few rows. The retry
 * must take locks that keep other transactions from adding such rows, or they may win the race every time.
 */
export class RetryTransaction extends Error {
  override name = "RetryTransaction";
}

/**
 * A transaction that locks several rows which others occasionally lock in another order. PostgreSQL detects a deadlock
 * after a second and aborts one of the two transactions; it is rolled back and retried. `isRetry` is true from the second
 * attempt on.
 */
export async function withDeadlockRetry<C extends Context, T>(
  ctx: C,
  work: (ctx: C, isRetry: boolean) => Promise<T | FinalWrites<T>>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(ctx, (ctx) => work(ctx, attempt > 1));
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !(isLockFailure(error) || error instanceof RetryTransaction)) throw error;
    }
  }
}
