import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type Context, runTransaction } from "../context/context.ts";
import { isLockFailure } from "./query-error.ts";
import { actingActor } from "./change-actor.ts";

/**
 * How long a statement waits for a lock. The time is shorter than PostgreSQL's `deadlock_timeout` of one second, so that in a
 * deadlock this transaction fails instead of the other transaction.
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
