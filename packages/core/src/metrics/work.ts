import { sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { forItsValues } from "../db/prepare-often.ts";
import { tasks } from "../task/task.sql.ts";
import type { TaskStatus } from "../task/task.ts";
import { task_transitions } from "../task/transition.sql.ts";
import { among, timeOf, timesOf } from "./scope.ts";

/** How many tasks are in each status. */
export type Work = Record<TaskStatus, number>;

interface Row {
  /** How many of the times the move has reached; null for what is there now. */
  reached: number | null;
  from_status: TaskStatus | null;
  to_status: TaskStatus | null;
  moves: number;
}

/**
 * The tasks of boards by status, at each of the times and now, which comes last. What is stored now is the truth, and the
 * past is told by taking moves back, the latest first: so tasks without any move are counted too. Both come from one
 * statement, so that they fit together whatever is written meanwhile.
 */
export async function readWork(ctx: Context, board_ids: readonly string[], times: readonly Date[]): Promise<Work[]> {
  const result = await ctx.db.execute(sql`${forItsValues}
    select null::int as reached, null as from_status, task.status as to_status, count(*)::int as moves
    from ${tasks} as task where task.board_id = ${among(board_ids)} group by task.status
    union all
    select width_bucket(move.at, ${timesOf(times)}), move.from_status, move.to_status, count(*)::int
    from ${task_transitions} as move where move.board_id = ${among(board_ids)} and move.at >= ${timeOf(times[0]!)}
    group by 1, 2, 3`);
  const rows = Map.groupBy(rowsOf<Row>(result), ({ reached }) => reached);
  let work: Work = { inbox: 0, in_progress: 0, review: 0, done: 0, blocked: 0 };
  for (const { to_status, moves } of rows.get(null) ?? []) work[to_status!] = moves;
  const all = [work];
  for (let reached = times.length; reached > 0; reached--) {
    work = { ...work };
    for (const { from_status, to_status, moves } of rows.get(reached) ?? []) {
      if (to_status) work[to_status] -= moves;
      if (from_status) work[from_status] += moves;
    }
    all.push(work);
  }
  return all.toReversed();
}
