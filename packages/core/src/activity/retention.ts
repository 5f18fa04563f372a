import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { type RemovedBatch, removeInBatches } from "../db/retention.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { startOfHour } from "../values/time.ts";
import { activity_events } from "../schema/activity.sql.ts";
import { activity_counts, activity_day_counts } from "../schema/activity-count.sql.ts";
import { countedEvents, eventHour, isFailed } from "./counted-events.ts";

/** Events per transaction. It is small, so that the removal of a task never waits long for the transaction. */
const BATCH_SIZE = 2_000;

/** Removes the comments of a task. An earlier statement of the transaction must have selected `countedEvents.sharedLock`. */
export async function removeComments(ctx: Context, board_id: string, task_id: string): Promise<void> {
  await removeEvents(ctx, sql`event.task_id = ${task_id} and event.board_id = ${board_id} and event.event_type = 'task.comment'`);
}

/**
 * Removes the events of hours that are entirely old. Comments are kept, because they belong to their task. Events that are not
 * counted yet are kept too.
 */
export async function removeEventsBefore(ctx: Context, time: Date): Promise<void> {
  const before = toTimestamp(startOfHour(time));
  await removeInBatches(BATCH_SIZE, (size, from) =>
    withLockTimeoutRetry(ctx, (ctx) => removeOfBoards(ctx, sql`${from}::timestamptz`, before, size)),
  );
  await removeInBatches(BATCH_SIZE, (size, from) => removeWithoutBoard(ctx, sql`${from}::timestamptz`, before, size));
  await ctx.db.execute(sql`delete from ${activity_counts} where hour > '-infinity' and hour < ${before} and events = 0`);
  await ctx.db.execute(sql`delete from ${activity_day_counts} where day > '-infinity' and day < ${before} and events = 0`);
}

/** Reads only hours that have counted events other than comments. Otherwise every run would read the old comments again. */
async function removeOfBoards(ctx: Context, from: SQL, before: SQL, size: number): Promise<RemovedBatch> {
  await countedEvents.lock(ctx);
  const due = sql`(
    select counts.board_id, counts.hour from ${activity_counts} as counts
    where counts.hour > '-infinity' and counts.hour >= date_trunc('hour', ${from}, 'UTC') and counts.hour < ${before}
      and counts.events > counts.comments
    order by counts.hour limit ${size}) as due`;
  return removeEvents(
    ctx,
    sql`event.id in (
      select event.id from ${due} cross join lateral (
        select event.id from ${activity_events} as event
        where event.board_id = due.board_id
          and event.created_at >= due.hour and event.created_at < due.hour + interval '1 hour'
          and event.event_type <> 'task.comment' and ${countedEvents.isCounted}
        limit ${size}) as event
      order by due.hour limit ${size})`,
  );
}

async function removeWithoutBoard(ctx: Context, from: SQL, before: SQL, size: number): Promise<RemovedBatch> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${activity_events} where ctid = any (array(
        select ctid from ${activity_events}
        where board_id is null and created_at >= ${from} and created_at < ${before}
        order by created_at limit ${size} for update skip locked))
      returning created_at)
    select count(*)::int as count, max(created_at)::text as last from removed`);
  return rowsOf<RemovedBatch>(result)[0]!;
}

/**
 * Removes each `event` of a board that meets the condition, and subtracts it from the counts. It locks the rows of counts in
 * order, because tasks of the same board may be removed at the same time. The first of these rows is the board's total, so only
 * one removal at a time changes the daily counts.
 */
async function removeEvents(ctx: Context, condition: SQL): Promise<RemovedBatch> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${activity_events} as event where ${condition}
      returning event.board_id, event.created_at, event.event_type, ${countedEvents.isCounted} as counted
    ), subtracted as (
      select event.board_id, coalesce(${eventHour}, '-infinity') as hour, count(*) as events,
        count(*) filter (where ${isFailed}) as failed, count(*) filter (where event.event_type = 'task.comment') as comments
      from removed as event where event.counted
      group by grouping sets ((event.board_id, ${eventHour}), (event.board_id))
    ), locked as (
      select subtracted.* from subtracted join ${activity_counts} as counts using (board_id, hour)
      order by board_id, hour for no key update of counts
    ), changed as (
      update ${activity_counts} as counts set events = counts.events - locked.events,
        failed = counts.failed - locked.failed, comments = counts.comments - locked.comments
      from locked where counts.board_id = locked.board_id and counts.hour = locked.hour
    ), changed_days as (
      update ${activity_day_counts} as counts set events = counts.events - day.events, failed = counts.failed - day.failed
      from (select board_id, date_trunc('day', hour, 'UTC') as day, sum(events) as events, sum(failed) as failed
        from locked where hour > '-infinity' group by 1, 2) as day
      where counts.board_id = day.board_id and counts.day = day.day
    )
    select count(*)::int as count, max(created_at)::text as last from removed`);
  return rowsOf<RemovedBatch>(result)[0]!;
}
