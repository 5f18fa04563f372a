import { sql } from "drizzle-orm";
import type { System } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { task_counts, transition_counts, transitions_counted } from "../schema/metrics-count.sql.ts";
import { completions, isUncounted, reviewedBefore, statusChanges } from "./transition-counts.ts";

/** Status changes of tasks per transaction. The number is small, so that a removal never waits long for the transaction. */
const BATCH_SIZE = 5_000;
/** Boards per transaction whose tasks are counted. */
const BOARDS_PER_BATCH = 50;
/** Batches per run. The next run counts the remaining status changes; until then, readers count them one by one. */
const MAX_BATCHES = 200;

/** The key of the advisory lock on the counts of status changes. The number is arbitrary but fixed. */
const COUNTS_LOCK = 4_207_121;

/**
 * Adds new status changes of tasks to the counts, batch by batch. Then it counts the tasks of boards with new status changes that
 * have no task count yet.
 */
export async function countNewTransitions(ctx: Context<System>, max_batches = MAX_BATCHES): Promise<void> {
  const uncounted = new Set<string>();
  for (let batch = 0; batch < max_batches; batch++) {
    const { total, without_tasks } = await withLockTimeoutRetry(ctx, countBatch);
    for (const id of without_tasks) uncounted.add(id);
    if (total < BATCH_SIZE) break;
  }
  // This comes after the status changes, because the task count of a board has to subtract those that are not counted yet.
  const ids = [...uncounted];
  for (let at = 0; at < ids.length; at += BOARDS_PER_BATCH)
    await withLockTimeoutRetry(ctx, (ctx) => countTasks(ctx, ids.slice(at, at + BOARDS_PER_BATCH)));
}

interface CountedBatch {
  total: number;
  without_tasks: string[];
}

const lockCounts = (ctx: Context) => ctx.db.execute(sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`);

/** Counts the changes to the status `review` that are the first of their task in the period. */
const firstIn = (period: "hour" | "day" | "week" | "month") => sql`count(*) filter (
  where move.to_status = 'review' and move.previous_review < date_trunc('${sql.raw(period)}', move.at, 'UTC'))`;

/**
 * Counts the next status changes in commit order, up to the oldest open transaction. Returns how many it counted, and which of
 * their boards have no task count. It also fills in `reviewed_before` of rows that an earlier version of the service stored.
 */
async function countBatch(ctx: Context): Promise<CountedBatch> {
  await lockCounts(ctx);
  const result = await ctx.db.execute(sql`
    with fresh as materialized (
      select move.id, move.board_id, move.task_id, move.from_status, move.to_status, move.at, move.in_progress_at,
        move.reviewed_before, move.tx
      from ${task_transitions} as move
      where ${isUncounted} and move.tx < pg_snapshot_xmin(pg_current_snapshot())
      order by move.tx, move.id limit ${BATCH_SIZE}
    ), locked_board as (
      select id from ${boards} where id in (select board_id from fresh) order by id for key share
    ), move as materialized (
      select move.*, case when move.to_status = 'review' then ${reviewedBefore} end as previous_review
      from fresh as move join locked_board on locked_board.id = move.board_id
    ), completed_rows as (
      update ${task_transitions} as stored set reviewed_before = move.previous_review from move
      where stored.id = move.id and stored.board_id = move.board_id
        and move.to_status = 'review' and move.reviewed_before is null
    ), added as (
      insert into ${transition_counts} as counts (board_id, span, start, inbox, in_progress, review, done,
        reviewed_in_hour, reviewed_in_day, reviewed_in_week, reviewed_in_month, completed, cycle_ms)
      select move.board_id, span, date_trunc(span, move.at, 'UTC'), ${statusChanges},
        ${firstIn("hour")}, ${firstIn("day")}, ${firstIn("week")}, ${firstIn("month")}, ${completions}
      from move cross join (values ('hour'), ('day')) as part(span) group by 1, 2, 3
      on conflict (board_id, span, start) do update set inbox = counts.inbox + excluded.inbox,
        in_progress = counts.in_progress + excluded.in_progress, review = counts.review + excluded.review,
        done = counts.done + excluded.done, reviewed_in_hour = counts.reviewed_in_hour + excluded.reviewed_in_hour,
        reviewed_in_day = counts.reviewed_in_day + excluded.reviewed_in_day,
        reviewed_in_week = counts.reviewed_in_week + excluded.reviewed_in_week,
        reviewed_in_month = counts.reviewed_in_month + excluded.reviewed_in_month,
        completed = counts.completed + excluded.completed, cycle_ms = counts.cycle_ms + excluded.cycle_ms
    ), changed_tasks as (
      update ${task_counts} as counts set inbox = counts.inbox + change.inbox,
        in_progress = counts.in_progress + change.in_progress, review = counts.review + change.review,
        done = counts.done + change.done
      from (select move.board_id, ${statusChanges} from move group by move.board_id) as change
      where counts.board_id = change.board_id
    ), moved as (
      insert into ${transitions_counted} (tx, transition_id) select tx, id from fresh order by tx desc, id desc limit 1
      on conflict ("only") do update set tx = excluded.tx, transition_id = excluded.transition_id
    )
    select count(*)::int as total, array(
      select id from locked_board where not exists (select 1 from ${task_counts} as counts where counts.board_id = locked_board.id)
    ) as without_tasks from fresh`);
  return rowsOf<CountedBatch>(result)[0]!;
}

const tasksIn = (status: string) =>
  sql`(select count(*) from ${tasks} as task where task.board_id = board.id and task.status = ${sql.raw(`'${status}'`)})`;

/**
 * Stores the task count of boards that have none, as of the last counted status change. A task's new status and its row in
 * `task_transitions` are committed together, so one statement sees both or neither.
 */
async function countTasks(ctx: Context, board_ids: readonly string[]): Promise<void> {
  await lockCounts(ctx);
  await ctx.db.execute(sql`
    with board as materialized (
      select id from ${boards} as board
      where id = any(${sql.param(board_ids)}::uuid[])
        and not exists (select 1 from ${task_counts} as counts where counts.board_id = board.id)
      order by id for key share
    ), counted as (
      insert into ${task_counts} (board_id, inbox, in_progress, review, done)
      select board.id, ${tasksIn("inbox")} - change.inbox, ${tasksIn("in_progress")} - change.in_progress,
        ${tasksIn("review")} - change.review, ${tasksIn("done")} - change.done
      from board cross join lateral (
        select ${statusChanges} from ${task_transitions} as move where move.board_id = board.id and ${isUncounted}) as change
    )
    select count(*) from board`);
}
