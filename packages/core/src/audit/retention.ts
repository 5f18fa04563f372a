import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { audit_chains, audit_events } from "../schema/audit.sql.ts";

/** How many old entries are read to find the chains that have entries to remove. */
const BATCH = 1_000;

/**
 * Removes old entries from the beginning of each chain, up to the first newer entry, and stores where the remaining chain begins.
 */
export async function removeAuditEventsBefore(ctx: Context, time: Date): Promise<void> {
  while (await removeFromSomeChains(ctx, time)) continue;
}

async function removeFromSomeChains(ctx: Context, time: Date): Promise<boolean> {
  const before = toTimestamp(time);
  const result = await ctx.db.execute(sql`
    with due as (
      select distinct organization_id from (
        select organization_id from ${audit_events} where at < ${before} order by at limit ${BATCH}) as oldest
    ), removed as (
      delete from ${audit_events} as event using due
      where event.organization_id = due.organization_id and event.at < ${before} and not exists (
        select from (
          select kept.seq from ${audit_events} as kept
          where kept.organization_id = due.organization_id and kept.at >= ${before} order by kept.seq limit 1) as first
        where first.seq < event.seq)
      returning event.organization_id, event.seq, event.hash
    ), ends as (
      select distinct on (organization_id) organization_id, seq, hash from removed order by organization_id, seq desc
    ), moved as (
      update ${audit_chains} as chain set removed_seq = ends.seq, removed_hash = ends.hash
      from ends where ends.organization_id = chain.organization_id
    )
    select count(*)::int as count from removed`);
  return rowsOf<{ count: number }>(result)[0]!.count > 0;
}
