import { sql } from "drizzle-orm";
import type { System } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { activity_events } from "./activity.sql.ts";
import { eventDay, eventHour, isFailed, isUncounted } from "./count.ts";
import { activity_counted, activity_counts, activity_day_counts } from "./count.sql.ts";
import { hasDays } from "./count-intervals.ts";
import { lockCounts } from "./lock.ts";

/** Events in one transaction: few enough that a removal waits for it only briefly. */
const BATCH_SIZE = 5_000;
/** Batches in one run. The next run counts the rest; until then it is read from the log. */
const MAX_BATCHES = 200;

/** Boards in one transaction whose days are added up, which may have years of hours. */
const BOARDS_PER_BATCH = 50;

/** Adds new events to the counts, batch by batch, and then adds up the days of boards that have none. */
export async function countNewEvents(ctx: Context<System>): Promise<void> {
  await runBatches(() => countBatch(ctx), BATCH_SIZE);
  await runBatches(() => addUpDays(ctx), BOARDS_PER_BATCH);
}

async function runBatches(run: () => Promise<number>, size: number): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) if ((await run()) < size) return;
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
      select count(*)::int as total from fresh`);
    return rowsOf<{ total: number }>(result)[0]!.total;
  });

/** Adds up the days of boards from their hours and returns the number of boards. */
const addUpDays = (ctx: Context): Promise<number> =>
  withLockTimeoutRetry(ctx, async (ctx) => {
    await lockCounts(ctx);
    const result = await ctx.db.execute(sql`
      with locked_board as (
        select id from ${boards} as board where not ${hasDays(sql`board.id`)}
        order by id limit ${BOARDS_PER_BATCH} for key share
      ), added as (
        insert into ${activity_day_counts} (board_id, day, events, failed)
        select counts.board_id, date_trunc('day', counts.hour, 'UTC'), sum(counts.events), sum(counts.failed)
        from locked_board join ${activity_counts} as counts on counts.board_id = locked_board.id
        where counts.hour > '-infinity' group by 1, 2
        union all select id, '-infinity', 0, 0 from locked_board
      )
      select count(*)::int as total from locked_board`);
    return rowsOf<{ total: number }>(result)[0]!.total;
  });
