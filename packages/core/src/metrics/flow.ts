import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { customPlan } from "../db/statement-cache.ts";
import { toTimestamp, toTimestampArray } from "../db/timestamp.ts";
import type { TaskStatus } from "../task/task-status.ts";
import { task_transitions } from "../task/transition.sql.ts";
import { addMs, DAY_MS, HOUR_MS } from "../time.ts";
import { anyOf } from "./scope.ts";

/** Figures about the flow of tasks through boards. Arrays have one figure for each interval. */
export interface Flow {
  /** Number of different tasks that moved to review. */
  reviewed: number[];
  /** Mean hours from the start of work to done, of the tasks that moved to done; 0 without such tasks. */
  cycle_hours: number[];
  /** The median of these hours in the seven days before the last edge; null without such tasks. */
  median_hours_7d: number | null;
}

interface Row {
  figure: "reviewed" | "cycle" | "median";
  /** Number of the interval, from 1; null for the median. */
  place: number | null;
  /** A number of tasks, or milliseconds. */
  value: number | null;
}

/**
 * Reads moves to review and to done. `edges` ascend, and interval i is [edges[i], edges[i + 1]).
 *
 * Moves of a removed task have lost its id. Those with the same board and start of work, to the millisecond, count as one
 * task; a move without a start counts as a separate task. A task that was done without a start of work has no cycle time.
 */
export async function readFlow(ctx: Context, board_ids: readonly string[], edges: readonly Date[]): Promise<Flow> {
  const last = edges.at(-1)!;
  const place = sql`width_bucket(move.at, ${toTimestampArray(edges)})`;
  const toMilliseconds = (time: SQL) => sql`(extract(epoch from ${time}) * 1000)::float8`;
  const transitionsTo = (status: TaskStatus, since: Date) => sql`${task_transitions} as move
    where move.board_id = ${anyOf(board_ids)} and move.to_status = ${status}
      and move.at >= ${toTimestamp(since)} and move.at < ${toTimestamp(last)}`;
  const hasCycleStart = sql`move.in_progress_at is not null`;
  const result = await ctx.db.execute(sql`${customPlan}
    select 'reviewed' as figure, place, count(*)::float8 as value from (
      select distinct ${place} as place,
        coalesce(move.task_id, md5(move.board_id || ' ' || extract(epoch from move.in_progress_at))::uuid, move.id)
      from ${transitionsTo("review", edges[0]!)}) as task
    group by place
    union all
    select 'cycle', ${place}, ${toMilliseconds(sql`avg(move.at - move.in_progress_at)`)}
    from ${transitionsTo("done", edges[0]!)} and ${hasCycleStart} group by 2
    union all
    select 'median', null, ${toMilliseconds(sql`percentile_cont(0.5) within group (order by move.at - move.in_progress_at)`)}
    from ${transitionsTo("done", addMs(last, -7 * DAY_MS))} and ${hasCycleStart}`);
  const rows = rowsOf<Row>(result);
  const toIntervals = (figure: Row["figure"]) => {
    const values = edges.slice(1).map(() => 0);
    for (const row of rows) if (row.figure === figure) values[row.place! - 1] = row.value!;
    return values;
  };
  const median_ms = rows.find(({ figure }) => figure === "median")!.value;
  return {
    reviewed: toIntervals("reviewed"),
    cycle_hours: toIntervals("cycle").map((ms) => ms / HOUR_MS),
    median_hours_7d: median_ms === null ? null : median_ms / HOUR_MS,
  };
}
