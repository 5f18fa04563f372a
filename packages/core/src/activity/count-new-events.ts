import { sql } from "drizzle-orm";
import type { System } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { activity_events } from "./activity.sql.ts";
import { eventHour, isFailed, isUncounted } from "./count.ts";
import { activity_counted, activity_counts } from "./count.sql.ts";
import { lockCounts } from "./lock.ts";

/** Events in one transaction: few enough that a removal waits for it only briefly. */
const BATCH_SIZE = 5_000;
/** Batches in one run. The next run counts the rest; until then it is read from the log. */
const MAX_BATCHES = 200;

/** Adds new events to the counts, batch by batch. */
export async function countNewEvents(ctx: Context<System>): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) if ((await countBatch(ctx)) < BATCH_SIZE) return;
}

/**
 * Counts the next events in commit order and returns their number. It stops at the oldest open transaction: an event that
 * commits later is then always after the stored position, so no event is missed.
 */
const countBatch = (ctx: Context): Promise<number> =>
  withLockTimeoutRetry(ctx, async (ctx) => {
    await lockCounts(ctx);
    // The lock on the boards keeps them from being removed between reading their events and writing their counts.
    const result = await ctx.db.execute(sql`
      with fresh as materialized (
        select event.board_id, event.created_at, event.event_type, event.tx, event.seq from ${activity_events} as event
        where ${isUncounted} and event.tx < pg_snapshot_xmin(pg_current_snapshot())
        order by event.tx, event.seq limit ${BATCH_SIZE}
      ), locked_board as (
        select id from ${boards} where id in (select board_id from fresh) order by id for key share
      ), added as (
        insert into ${activity_counts} as counts (board_id, hour, events, failed, comments)
        select event.board_id, coalesce(${eventHour}, '-infinity'), count(*),
          count(*) filter (where ${isFailed}), count(*) filter (where event.event_type = 'task.comment')
        from fresh as event join locked_board on locked_board.id = event.board_id
        group by grouping sets ((event.board_id, ${eventHour}), (event.board_id))
        on conflict (board_id, hour) do update set events = counts.events + excluded.events,
          failed = counts.failed + excluded.failed, comments = counts.comments + excluded.comments
      ), moved as (
        insert into ${activity_counted} (tx, seq) select tx, seq from fresh order by tx desc, seq desc limit 1
        on conflict ("only") do update set tx = excluded.tx, seq = excluded.seq
      )
      select count(*)::int as total from fresh`);
    return rowsOf<{ total: number }>(result)[0]!.total;
  });
