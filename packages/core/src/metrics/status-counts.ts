import { sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { customPlan } from "../db/statement-cache.ts";
import { toTimestamp, toTimestampArray } from "../db/timestamp.ts";
import { tasks } from "../task/task.sql.ts";
import type { TaskStatus } from "../task/task-status.ts";
import { task_transitions } from "../task/transition.sql.ts";
import { anyOf } from "./scope.ts";

/** The number of tasks in each status. */
export type StatusCounts = Record<TaskStatus, number>;

interface Row {
  /** Number of times that are not after the move; null for the tasks as they are now. */
  reached: number | null;
  from_status: TaskStatus | null;
  to_status: TaskStatus | null;
  moves: number;
}

/**
 * The tasks of boards by status, at each of the times and, last, now. It starts from the stored tasks and undoes moves, the
 * latest first, so that tasks without any move count too. One statement reads both, so that they are of one moment.
 */
export async function readStatusCounts(
  ctx: Context,
  board_ids: readonly string[],
  times: readonly Date[],
): Promise<StatusCounts[]> {
  const result = await ctx.db.execute(sql`${customPlan}
    select null::int as reached, null as from_status, task.status as to_status, count(*)::int as moves
    from ${tasks} as task where task.board_id = ${anyOf(board_ids)} group by task.status
    union all
    select width_bucket(move.at, ${toTimestampArray(times)}), move.from_status, move.to_status, count(*)::int
    from ${task_transitions} as move where move.board_id = ${anyOf(board_ids)} and move.at >= ${toTimestamp(times[0]!)}
    group by 1, 2, 3`);
  const rows = Map.groupBy(rowsOf<Row>(result), ({ reached }) => reached);
  let counts: StatusCounts = { inbox: 0, in_progress: 0, review: 0, done: 0, blocked: 0 };
  for (const { to_status, moves } of rows.get(null) ?? []) counts[to_status!] = moves;
  const all = [counts];
  for (let reached = times.length; reached > 0; reached--) {
    counts = { ...counts };
    for (const { from_status, to_status, moves } of rows.get(reached) ?? []) {
      if (to_status) counts[to_status] -= moves;
      if (from_status) counts[from_status] += moves;
    }
    all.push(counts);
  }
  return all.toReversed();
}
