import { type SQL, sql } from "drizzle-orm";
import { countedLog } from "../db/counted-log.ts";
import { task_counts, transition_counts, transitions_counted } from "../schema/metrics-count.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";

const earlier = (condition: SQL) => sql`(
  select max(earlier.at) from ${task_transitions} as earlier
  where earlier.to_status = 'review' and (earlier.at, earlier.id) < (move.at, move.id) and ${condition})`;

/**
 * When the task of a `move` to `review` last entered `review` before this move. Rows of an earlier version of the service lack this
 * time until they are counted. If the task was removed, its id is missing, so the board and the start of work identify it.
 */
export const reviewedBefore = sql`coalesce(move.reviewed_before, case
  when move.task_id is not null then ${earlier(sql`earlier.task_id = move.task_id`)}
  when move.in_progress_at is not null then ${earlier(sql`earlier.board_id = move.board_id
    and earlier.in_progress_at = move.in_progress_at and earlier.task_id is null`)}
  end, '-infinity')`;

const changeOf = (status: string) => {
  const literal = sql.raw(`'${status}'`);
  return sql`count(*) filter (where move.to_status = ${literal}) - count(*) filter (where move.from_status = ${literal})`;
};

/** How a group of task transitions changes the number of tasks in each status. */
export const statusChanges = sql`${changeOf("inbox")} as inbox, ${changeOf("in_progress")} as in_progress,
  ${changeOf("review")} as review, ${changeOf("done")} as done`;

const isCompleted = sql`move.to_status = 'done' and move.in_progress_at is not null`;

/** How many transitions of a group completed a task whose start of work is known, and the sum of the times from start to done. */
export const completions = sql`count(*) filter (where ${isCompleted}) as completed, coalesce(sum(
  (extract(epoch from move.at - move.in_progress_at) * 1000)::bigint) filter (where ${isCompleted}), 0)::bigint as cycle_ms`;

/** Counts the changes to the status `review` that are the first of their task in the period. */
const firstIn = (period: "hour" | "day" | "week" | "month") => sql`count(*) filter (
  where move.to_status = 'review' and move.previous_review < date_trunc('${sql.raw(period)}', move.at, 'UTC'))`;

const tasksIn = (status: string) =>
  sql`(select count(*) from ${tasks} as task where task.board_id = board.id and task.status = ${sql.raw(`'${status}'`)})`;

/**
 * Task transitions are counted by board, day and hour. A stored transition keeps its statuses and time until its board is removed,
 * so a count stays right. Counting also fills in `reviewed_before` of rows that an earlier version of the service stored.
 *
 * The tasks of a board are counted as of the last counted transition. A task's new status and its transition are committed
 * together, so one statement sees both or neither.
 */
export const countedTransitions = countedLog({
  table: task_transitions,
  alias: "move",
  id: "id",
  position: { table: transitions_counted, id: "transition_id", first: "'00000000-0000-0000-0000-000000000000'::uuid" },
  lock_key: 4_207_121,
  columns: sql`move.id, move.board_id, move.task_id, move.from_status, move.to_status, move.at, move.in_progress_at,
    move.reviewed_before, move.tx`,
  writes: sql`move as materialized (
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
    )`,
  isComplete: sql`exists (select 1 from ${task_counts} as counts where counts.board_id = board.id)`,
  complete: (isUncounted) => sql`
    insert into ${task_counts} (board_id, inbox, in_progress, review, done)
      select board.id, ${tasksIn("inbox")} - change.inbox, ${tasksIn("in_progress")} - change.in_progress,
        ${tasksIn("review")} - change.review, ${tasksIn("done")} - change.done
      from board cross join lateral (
        select ${statusChanges} from ${task_transitions} as move where move.board_id = board.id and ${isUncounted}) as change`,
});

export const countNewTransitions = countedTransitions.countNew;
