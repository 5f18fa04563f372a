import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { addMs, DAY_MS, HOUR_MS, toIntervalValues, toTimes } from "../values/time.ts";
import { type FlowRow, selectFlow } from "./flow-query.ts";
import { type Bucket, type Timeline, toEdges } from "./range.ts";

/** The number of tasks in each status that the metrics show. */
interface StatusCounts {
  inbox: number;
  in_progress: number;
  review: number;
  done: number;
}

type Changes = StatusCounts | undefined;

/**
 * Figures about the flow of tasks. Each array has one figure per bucket: first for the buckets of the comparison, then for the
 * buckets of the window.
 */
interface Flow {
  /** How many different tasks changed to the status `review`. */
  reviewed: number[];
  /** The mean hours from the start of work to done, for the tasks that changed to `done`; 0 if there are none. */
  cycle_hours: number[];
  /** The median of these hours in the last seven days; null if there are no such tasks. */
  median_hours_7d: number | null;
  /** The number of tasks by status at the end of each bucket. The last entry shows the current tasks. */
  status_counts: StatusCounts[];
}

/** Reads the current tasks of boards and their status changes with one statement, so that the figures belong to the same moment. */
export async function readFlow(ctx: Context, board_ids: readonly string[], timeline: Timeline): Promise<Flow> {
  const edges = toEdges(timeline);
  const cut = [timeline.comparison, timeline.primary].map(([first]) => first!).filter(isCutAtStart);
  const result = await selectFlow(ctx.db, timeline.size).execute({
    board_ids: [...board_ids],
    ...toIntervalValues(edges),
    cut_places: cut.map((bucket) => [...timeline.comparison, ...timeline.primary].indexOf(bucket) + 1),
    cut_starts: toTimes(cut.map(({ start }) => start)),
    cut_ends: toTimes(cut.map(({ end }) => end)),
    week_ago: addMs(timeline.now, -7 * DAY_MS).toISOString(),
  });
  const rows = new Map(rowsOf<FlowRow>(result).map((row) => [row.place, row]));
  const places = edges.slice(1).map((_end, index) => rows.get(index + 1));
  const now = rows.get(null)!;
  return {
    reviewed: places.map((row) => row?.reviewed ?? 0),
    cycle_hours: places.map((row) => (row?.completed ? row.cycle_ms / row.completed / HOUR_MS : 0)),
    median_hours_7d: now.median_ms === null ? null : now.median_ms / HOUR_MS,
    status_counts: undoMoves(now, rows.get(edges.length), places.slice(1)),
  };
}

const isCutAtStart = ({ period, start }: Bucket) => start > period;

const STATUSES = ["inbox", "in_progress", "review", "done"] as const;

/**
 * Starts from the current tasks and undoes the status changes of each interval, the latest first, so that tasks without any status
 * change are counted too. `later` contains status changes after the last edge, which exist if the database's clock is ahead.
 */
function undoMoves(now: StatusCounts, later: Changes, intervals: readonly Changes[]): StatusCounts[] {
  let counts = undo(now, later);
  const ends = intervals.toReversed().map((changes) => (counts = undo(counts, changes)));
  return [...ends.toReversed(), undo(now, undefined)];
}

const undo = (counts: StatusCounts, changes: Changes): StatusCounts =>
  Object.fromEntries(STATUSES.map((status) => [status, counts[status] - (changes?.[status] ?? 0)])) as unknown as StatusCounts;
