import { type SQL, sql } from "drizzle-orm";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { organizations } from "../organization/organization.sql.ts";
import { activity_events } from "./activity.sql.ts";
import { hourOf, isCounted, isFailed, startOfHour } from "./count.ts";
import { activity_counts } from "./count.sql.ts";
import { holdCounts } from "./lock.ts";

/** Events in one transaction of the retention: few enough that the removal of a task hardly notices waiting for it. */
const PORTION = 2_000;
/** Portions of one run; what is left then goes with the next one. */
const PORTIONS = 200;
const DAY_MS = 86_400_000;

/**
 * Removes the comments of a task that goes, in a transaction that keeps events from being counted (`whileNotCounting`)
 * since an earlier statement.
 */
export async function removeComments(ctx: Context, board_id: string, task_id: string): Promise<void> {
  await removeEvents(ctx, sql`event.task_id = ${task_id} and event.board_id = ${board_id} and event.event_type = 'task.comment'`);
}

/**
 * Removes what is older than the service keeps, in whole hours. A comment stays: it belongs to its task. An event that is
 * not counted yet stays until it is.
 */
export async function removeOldEvents(ctx: Context): Promise<void> {
  const days = ctx.settings.activity_retention_days;
  if (days === 0) return;
  const before = sql`${startOfHour(new Date(ctx.now().getTime() - days * DAY_MS)).toISOString()}::timestamptz`;
  await removeAll(ctx, (ctx) => removeFromBoards(ctx, before));
  await removeAll(ctx, (ctx) => removeBoardless(ctx, before));
  await ctx.db.execute(sql`delete from ${activity_counts} where hour > '-infinity' and hour < ${before} and events = 0`);
}

async function removeAll(ctx: Context, removePortion: (ctx: Context) => Promise<number>): Promise<void> {
  for (let portion = 0; portion < PORTIONS; portion++) if ((await transactionGivingWay(ctx, removePortion)) < PORTION) return;
}

/** Goes by the hours in which more than comments is counted, so that old comments are not read over and over. */
async function removeFromBoards(ctx: Context, before: SQL): Promise<number> {
  await holdCounts(ctx);
  const due = sql`(
    select counts.* from ${boards} as board cross join lateral (
      select counts.board_id, counts.hour from ${activity_counts} as counts
      where counts.board_id = board.id and counts.hour > '-infinity' and counts.hour < ${before}
        and counts.events > counts.comments
      order by counts.hour limit ${PORTION}) as counts
    limit ${PORTION}) as due`;
  return removeEvents(
    ctx,
    sql`event.id in (
      select event.id from ${due} cross join lateral (
        select event.id from ${activity_events} as event
        where event.board_id = due.board_id
          and event.created_at >= due.hour and event.created_at < due.hour + interval '1 hour'
          and event.event_type <> 'task.comment' and ${isCounted}
        limit ${PORTION}) as event
      limit ${PORTION})`,
  );
}

async function removeBoardless(ctx: Context, before: SQL): Promise<number> {
  const found = await ctx.db.execute(sql`
    delete from ${activity_events} where id in (
      select event.id from ${organizations} as home cross join lateral (
        select event.id from ${activity_events} as event
        where event.organization_id = home.id and event.board_id is null and event.created_at < ${before}
        order by event.created_at, event.id limit ${PORTION}) as event
      limit ${PORTION})
    returning id`);
  return rowsOf(found).length;
}

/**
 * Removes each `event` of boards that the condition names and takes those that are counted out of the counts; returns how
 * many there were. Rows of the counts are locked in their order, since tasks of one board may go at the same time.
 */
async function removeEvents(ctx: Context, condition: SQL): Promise<number> {
  const found = await ctx.db.execute(sql`
    with gone as (
      delete from ${activity_events} as event where ${condition}
      returning event.board_id, event.created_at, event.event_type, ${isCounted} as counted
    ), taken as (
      select event.board_id, coalesce(${hourOf}, '-infinity') as hour, count(*) as events,
        count(*) filter (where ${isFailed}) as failed, count(*) filter (where event.event_type = 'task.comment') as comments
      from gone as event where event.counted
      group by grouping sets ((event.board_id, ${hourOf}), (event.board_id))
    ), held as (
      select taken.* from taken join ${activity_counts} as counts using (board_id, hour)
      order by board_id, hour for no key update of counts
    ), changed as (
      update ${activity_counts} as counts set events = counts.events - held.events,
        failed = counts.failed - held.failed, comments = counts.comments - held.comments
      from held where counts.board_id = held.board_id and counts.hour = held.hour
    )
    select count(*)::int as total from gone`);
  return rowsOf<{ total: number }>(found)[0]!.total;
}
