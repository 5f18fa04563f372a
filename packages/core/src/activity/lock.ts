import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";

/** The key of the advisory lock on the counts of events: an arbitrary fixed number. */
const COUNTS_LOCK = 4_207_120;

/**
 * Locks the counts until the transaction ends. Acquire it before reading events to count: otherwise an event could be
 * removed while it is counted, and the removal would not take it out of the counts.
 */
export async function lockCounts(ctx: Context): Promise<void> {
  await ctx.db.execute(sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`);
}

/**
 * Selecting this acquires the lock on the counts in shared mode, so that later statements of the transaction may remove
 * events. Several transactions can hold it; no events are counted until all of them have ended.
 */
export const sharedCountsLock = sql<unknown>`pg_advisory_xact_lock_shared(${COUNTS_LOCK})`;
