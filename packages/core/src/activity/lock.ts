import { sql } from "drizzle-orm";
import type { Context } from "../context.ts";

/** Any fixed number: the advisory lock of what is counted. */
const COUNTS_LOCK = 4_207_120;

/**
 * Waits until nobody removes events and keeps all others from it until the transaction ends. Whoever counts holds it, and
 * begins to read only then: of an event that is counted and removed at the same moment, neither side would know of the other.
 */
export async function holdCounts(ctx: Context): Promise<void> {
  await ctx.db.execute(sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`);
}

/**
 * Keeps events from being counted until the transaction ends, for one that removes some in a later statement; several may.
 * To be selected along with a lock that is taken last.
 */
export const whileNotCounting = sql<unknown>`pg_advisory_xact_lock_shared(${COUNTS_LOCK})`;
