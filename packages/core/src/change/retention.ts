import { eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { changes, changes_removed } from "../schema/change.sql.ts";

const BATCH_SIZE = 5_000;
/** Batches per run. The next run removes the remaining changes. */
const MAX_BATCHES = 400;

/**
 * Removes old changes in the order of the feed. It stores the position of the last one, so that readers with an older cursor get an
 * error.
 */
export async function removeChangesBefore(ctx: Context, time: Date): Promise<void> {
  const before = toTimestamp(time);
  for (let batch = 0, from = "0"; batch < MAX_BATCHES; batch++) {
    // Each batch starts where the previous one ended, so that it skips the index entries of removed rows. If even the oldest
    // change is recent, the statement reads only that row.
    const result = await ctx.db.execute(sql`
      with oldest as (
        select tx, id, action, at from ${changes}
        where tx >= ${from}::xid8
          and (select at from ${changes} where tx >= ${from}::xid8 order by tx, id, action limit 1) < ${before}
        order by tx, id, action limit ${BATCH_SIZE}
      ), removed as (
        delete from ${changes} using oldest
        where ${changes}.tx = oldest.tx and ${changes}.id = oldest.id and ${changes}.action = oldest.action and oldest.at < ${before}
        returning ${changes}.tx, ${changes}.seq
      ), moved as (
        insert into ${changes_removed} as stored (tx, seq) select tx, seq from removed order by tx desc, seq desc limit 1
        on conflict ("only") do update set tx = excluded.tx, seq = excluded.seq
          where (excluded.tx, excluded.seq) > (stored.tx, stored.seq)
      )
      select count(*)::int as count, max(tx::text::numeric)::text as last from removed`);
    const { count, last } = rowsOf<{ count: number; last: string | null }>(result)[0]!;
    if (count < BATCH_SIZE || last === null) return;
    from = last;
  }
}

/** Removes the changes of an organization that is being removed. */
export async function removeChangesOf(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db.delete(changes).where(eq(changes.organization_id, organization_id));
}
