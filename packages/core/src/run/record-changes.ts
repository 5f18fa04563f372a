import { type SQL, sql } from "drizzle-orm";
import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { type RUN_ADDITIONS, runs } from "../schema/run.sql.ts";

/** The shortest time between two entries of the changes feed that steps and usage of a run write. */
const recordInterval = sql.raw("interval '2 seconds'");

/**
 * Builds the assignments with which an UPDATE of `runs` records what it adds. If the last entry of the changes feed is too recent,
 * they mark the addition instead. The next addition, the end of the run or `recordAdditions` then writes the entry.
 */
export function recordAddition(kind: (typeof RUN_ADDITIONS)[number], now: SQL): SQL {
  const isTooSoon = sql`steps_recorded_at > ${now} - ${recordInterval}`;
  const marked = kind === "usage" ? sql`'usage'` : sql`coalesce(unrecorded, 'steps')`;
  return sql`steps_recorded_at = case when ${isTooSoon} then steps_recorded_at else ${now} end,
    unrecorded = case when ${isTooSoon} then ${marked} end`;
}

/** Writes the entries of the changes feed for additions that are still only marked, because their runs got no later addition. */
export async function recordAdditions(ctx: Context<System>): Promise<void> {
  const now = toTimestamp(ctx.now());
  // Locked runs are skipped. The transaction that holds the lock writes the entry, or the next call does.
  await ctx.db.execute(sql`
    update ${runs} set steps_recorded_at = ${now}, unrecorded = null
    where id in (
      select id from ${runs} where unrecorded is not null and steps_recorded_at <= ${now} - ${recordInterval}
      for no key update skip locked)`);
}
