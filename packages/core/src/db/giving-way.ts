import { setTimeout as pause } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { type Context, transaction } from "../context.ts";
import { lostLock } from "./conflict.ts";

/** PostgreSQL looks for deadlocks after a second of waiting. Whoever gives up sooner is the one that yields. */
const PATIENCE_MS = 300;
const ATTEMPTS = 20;

/**
 * A transaction that removes a whole tree of rows. It locks from the root down, and ordinary changes from a leaf up (a
 * task, then by foreign key its board), so the two can wait for each other. This one never waits for long: it gives
 * everything back, lets the others finish, and starts over.
 */
export async function transactionGivingWay<C extends Context, T>(ctx: C, work: (ctx: C) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(ctx, async (ctx) => {
        await ctx.db.execute(sql`select set_config('lock_timeout', ${String(PATIENCE_MS)}, true)`);
        return work(ctx);
      });
    } catch (error) {
      if (attempt === ATTEMPTS || !lostLock(error)) throw error;
      await pause(Math.random() * PATIENCE_MS);
    }
  }
}

const REPEATS = 5;

/**
 * Thrown in a repeatable transaction that has found, before it wrote anything, that it holds too little. The next attempt
 * must keep others from adding to it: they may well be faster every time.
 */
export class StartOver extends Error {
  override name = "StartOver";
}

/**
 * A transaction that locks several rows which others lock in another order, now and then. Of two that wait for each other
 * the database ends one after a second; it has changed nothing, and starts over. `again` tells the work that it does.
 */
export async function repeatableTransaction<C extends Context, T>(
  ctx: C,
  work: (ctx: C, again: boolean) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(ctx, (ctx) => work(ctx, attempt > 1));
    } catch (error) {
      if (attempt === REPEATS || !(lostLock(error) || error instanceof StartOver)) throw error;
    }
  }
}
