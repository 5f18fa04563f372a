import { sql } from "drizzle-orm";
import type { System } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { eventDay, eventHour, isFailed, isUncounted } from "./count.ts";
import { activity_counted, activity_counts, activity_day_counts } from "../schema/activity-count.sql.ts";
import { hasDays } from "./count-intervals.ts";
import { lockCounts } from "./lock.ts";

/** Events per transaction. It is small, so that a removal never waits long for the transaction. */
const BATCH_SIZE = 5_000;
/** Batches per run. The next run counts the remaining events; until then, readers count them in the log. */
const MAX_BATCHES = 200;

/** Boards per transaction whose hourly counts are summed up to daily counts. A board may have years of hourly counts. */
const BOARDS_PER_BATCH = 50;

/** Adds new events to the counts, batch by batch. It also creates the daily counts of boards with new events that have none yet. */
export async function countNewEvents(ctx: Context<System>, max_batches = MAX_BATCHES): Promise<void> {
  for (let batch = 0; batch < max_batches; batch++) {
    const { total, without_days } = await countBatch(ctx);
    for (let at = 0; at < without_days.length; at += BOARDS_PER_BATCH)
      await addUpDays(ctx, without_days.slice(at, at + BOARDS_PER_BATCH));
    if (total < BATCH_SIZE) return;
  }
}

interface CountedBatch {
  total: number;
  without_days: string[];
}

/**
 * Counts the next events in commit order. Returns how many it counted, and which of their boards have no daily counts yet. It stops
 * at the oldest open transaction, so that an event that is committed later always comes after the stored position.
 */
const countBatch = (ctx: Context): Promise<CountedBatch> =>
  withLockTimeoutRetry(ctx, async (ctx) => {
    await lockCounts(ctx);
    // The lock prevents the removal of a board between reading its events and writing its counts.
    const result = await ctx.db.execute(sql`
      with fresh as materialized (
        select event.board_id, event.created_at, event.event_type, event.tx, event.seq from ${activity_events} as event
        where ${isUncounted} and event.tx < pg_snapshot_xmin(pg_current_snapshot())
        order by event.tx, event.seq limit ${BATCH_SIZE}
      ), locked_board as (
        select id, ${hasDays(sql`board.id`)} as has_days from ${boards} as board
        where id in (select board_id from fresh) order by id for key share
      ), added as (
        insert into ${activity_counts} as counts (board_id, hour, events, failed, comments)
        select event.board_id, coalesce(${eventHour}, '-infinity'), count(*),
          count(*) filter (where ${isFailed}), count(*) filter (where event.event_type = 'task.comment')
        from fresh as event join locked_board on locked_board.id = event.board_id
        group by grouping sets ((event.board_id, ${eventHour}), (event.board_id))
        on conflict (board_id, hour) do update set events = counts.events + excluded.events,
          failed = counts.failed + excluded.failed, comments = counts.comments + excluded.comments
      ), added_days as (
        insert into ${activity_day_counts} as counts (board_id, day, events, failed)
        select event.board_id, ${eventDay}, count(*), count(*) filter (where ${isFailed})
        from fresh as event join locked_board on locked_board.id = event.board_id and locked_board.has_days
        group by event.board_id, ${eventDay}
        on conflict (board_id, day) do update set events = counts.events + excluded.events, failed = counts.failed + excluded.failed
      ), moved as (
        insert into ${activity_counted} (tx, seq) select tx, seq from fresh order by tx desc, seq desc limit 1
        on conflict ("only") do update set tx = excluded.tx, seq = excluded.seq
      )
      select count(*)::int as total, array(select id from locked_board where not has_days) as without_days from fresh`);
    return rowsOf<CountedBatch>(result)[0]!;
  });

/** Sums up the hourly counts of boards to daily counts. */
const addUpDays = (ctx: Context, board_ids: readonly string[]): Promise<void> =>
  withLockTimeoutRetry(ctx, async (ctx) => {
    await lockCounts(ctx);
    await ctx.db.execute(sql`
      with locked_board as (
        select id from ${boards} as board where id = any(${sql.param(board_ids)}::uuid[]) and not ${hasDays(sql`board.id`)}
        order by id for key share
      ), added as (
        insert into ${activity_day_counts} (board_id, day, events, failed)
        select counts.board_id, date_trunc('day', counts.hour, 'UTC'), sum(counts.events), sum(counts.failed)
        from locked_board join ${activity_counts} as counts on counts.board_id = locked_board.id
        where counts.hour > '-infinity' group by 1, 2
        union all select id, '-infinity', 0, 0 from locked_board
      )
      select count(*) from locked_board`);
  });
