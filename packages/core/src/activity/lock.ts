import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";

/** The key of the advisory lock on the counts of events. The number is arbitrary but fixed. */
const COUNTS_LOCK = 4_207_120;

/**
 * Locks the counts until the transaction ends. Acquire it before reading events to count. Otherwise an event that is removed at
 * the same time could remain in the counts.
 */
export async function lockCounts(ctx: Context): Promise<void> {
  await ctx.db.execute(sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`);
}

/**
 * An expression that takes the lock on the counts in shared mode when it is selected. The transaction may then remove events.
 * Several transactions can hold the shared lock at once, and no events are counted until all of them have ended.
 */
export const sharedCountsLock = sql<unknown>`pg_advisory_xact_lock_shared(${COUNTS_LOCK})`;
