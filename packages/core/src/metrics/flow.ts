import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { forItsValues } from "../db/prepare-often.ts";
import type { TaskStatus } from "../task/task.ts";
import { task_transitions } from "../task/transition.sql.ts";
import { before, DAY_MS, HOUR_MS } from "./range.ts";
import { among, timeOf, timesOf } from "./scope.ts";

/** What went through boards. Arrays have one figure for each interval. */
export interface Flow {
  /** Different tasks that came to review. */
  reviewed: number[];
  /** Mean hours from the start of work to done, of what became done; 0 for nothing. */
  cycle_hours: number[];
  /** The median of such hours in the seven days before the last edge; null for nothing. */
  median_hours_7d: number | null;
}

interface Row {
  figure: "reviewed" | "cycle" | "median";
  /** Which interval, from 1; null for the median. */
  place: number | null;
  /** A number of tasks, or milliseconds. */
  value: number | null;
}

/**
 * Reads moves to review and to done. `edges` ascend, and interval i is [edges[i], edges[i + 1]).
 *
 * Moves of a removed task no longer tell which one it was. Those on one board in one work cycle, which keeps its start to
 * the millisecond, are taken as one task, and a move outside of a cycle as a task of its own: a removal changes no history
 * that can be kept. A task that was done without ever being worked on has no cycle time.
 */
export async function readFlow(ctx: Context, board_ids: readonly string[], edges: readonly Date[]): Promise<Flow> {
  const last = edges.at(-1)!;
  const place = sql`width_bucket(move.at, ${timesOf(edges)})`;
  const toMs = (time: SQL) => sql`(extract(epoch from ${time}) * 1000)::float8`;
  const moved = (status: TaskStatus, since: Date) => sql`${task_transitions} as move
    where move.board_id = ${among(board_ids)} and move.to_status = ${status}
      and move.at >= ${timeOf(since)} and move.at < ${timeOf(last)}`;
  const worked = sql`move.in_progress_at is not null`;
  const result = await ctx.db.execute(sql`${forItsValues}
    select 'reviewed' as figure, place, count(*)::float8 as value from (
      select distinct ${place} as place,
        coalesce(move.task_id, md5(move.board_id || ' ' || extract(epoch from move.in_progress_at))::uuid, move.id)
      from ${moved("review", edges[0]!)}) as task
    group by place
    union all
    select 'cycle', ${place}, ${toMs(sql`avg(move.at - move.in_progress_at)`)}
    from ${moved("done", edges[0]!)} and ${worked} group by 2
    union all
    select 'median', null, ${toMs(sql`percentile_cont(0.5) within group (order by move.at - move.in_progress_at)`)}
    from ${moved("done", before(last, 7 * DAY_MS))} and ${worked}`);
  const rows = rowsOf<Row>(result);
  const ofIntervals = (figure: Row["figure"]) => {
    const values = edges.slice(1).map(() => 0);
    for (const row of rows) if (row.figure === figure) values[row.place! - 1] = row.value!;
    return values;
  };
  const median_ms = rows.find(({ figure }) => figure === "median")!.value;
  return {
    reviewed: ofIntervals("reviewed"),
    cycle_hours: ofIntervals("cycle").map((ms) => ms / HOUR_MS),
    median_hours_7d: median_ms === null ? null : median_ms / HOUR_MS,
  };
}
