import { type SQL, sql } from "drizzle-orm";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { transitions_counted } from "../schema/metrics-count.sql.ts";

// Every figure is the sum of `transition_counts` and of the task transitions (changes of a task's status) that are not counted yet.
// `../activity/count.ts` counts events in the same way. A stored transition keeps its statuses and time until its board is removed,
// so a count stays right.

const countedUpTo = {
  tx: sql`coalesce((select tx from ${transitions_counted}), '0'::xid8)`,
  id: sql`coalesce((select transition_id from ${transitions_counted}), '00000000-0000-0000-0000-000000000000'::uuid)`,
};

/**
 * A condition on `move`, a row of `task_transitions`: whether it is not counted yet. The first line helps the planner, as in
 * `isUncounted` of activity/count.ts.
 */
export const isUncounted = sql`move.tx >= ${countedUpTo.tx} and move.tx <= '18446744073709551615'::xid8
  and (move.tx, move.id) > (${countedUpTo.tx}, ${countedUpTo.id})`;

/** A condition on `move`, a row of `task_transitions`: whether the counts include it. */
export const isCounted = sql`(move.tx, move.id) <= (${countedUpTo.tx}, ${countedUpTo.id})`;

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
