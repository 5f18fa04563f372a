import { type SQL, sql } from "drizzle-orm";
import { preparedQuery } from "../db/prepared.ts";
import { input, selectInputs } from "../db/stable-plan.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";
import { task_counts, transition_counts } from "../schema/metrics-count.sql.ts";
import type { BucketSize } from "./range.ts";
import { completions, countedTransitions, reviewedBefore, statusChanges } from "./counted-transitions.ts";

/** The status changes of tasks in one interval, or the current tasks. */
export interface FlowRow {
  /**
   * The number of the interval, starting at 1. Status changes after the last edge have the next number. The row of the current
   * tasks has null.
   */
  place: number | null;
  inbox: number;
  in_progress: number;
  review: number;
  done: number;
  reviewed: number;
  completed: number;
  cycle_ms: number;
  /** Set only in the row of the current tasks; null if no task was done. */
  median_ms: number | null;
}

const placeOf = (at: SQL) => sql`width_bucket(${at}, ${input("edges")})`;
const isWholeHour = sql`date_trunc('hour', move.at, 'UTC') <> all(${input("divided_hours")}::timestamptz[])`;

/*
 * Each subquery reads the rows of one `board` from an index. `offset 0` keeps the planner from changing the join order, so that
 * one plan fits any number of boards and any range; see `selectInputs`.
 */
const countsIn = (span: "hour" | "day", condition: SQL) => sql`lateral (
  select counts.* from ${transition_counts} as counts
  where counts.board_id = board.id and counts.span = ${sql.raw(`'${span}'`)} and ${condition} offset 0) as counts`;

const movesIn = (condition: SQL) => sql`lateral (
  select move.* from ${task_transitions} as move where move.board_id = board.id and ${condition} offset 0) as move`;

const changes = sql`counts.inbox, counts.in_progress, counts.review, counts.done`;
const noChanges = sql`0 as inbox, 0 as in_progress, 0 as review, 0 as done`;
const hasTaskCount = sql`exists (select 1 from ${task_counts} as counts where counts.board_id = board.id)`;

/** Selects the counts of whole days, and the counts of whole hours on days that contain an edge. */
const wholeSpans = (size: BucketSize) => {
  const figures = sql`counts.start, ${changes}, counts.${sql.identifier(`reviewed_in_${size}`)} as reviewed,
    counts.completed, counts.cycle_ms`;
  return sql`
    select ${figures} from board
    cross join ${countsIn("day", sql`counts.start >= board.start and counts.start <> all(board.divided_days)`)}
    union all
    select ${figures} from board cross join unnest(board.divided_days) as part(day)
    cross join ${countsIn(
      "hour",
      sql`counts.start >= greatest(part.day, board.start) and counts.start < part.day + interval '24 hours'
        and counts.start <> all(board.divided_hours)`,
    )}`;
};

/**
 * Status changes that are not counted yet, and all status changes in hours that contain an edge, except the hour of the last edge.
 */
const singleMoves = sql`
  select move.* from uncounted as move where ${placeOf(sql`move.at`)} > 0 and ${isWholeHour}
  union all
  select move.* from board cross join unnest(board.divided_hours) as part(hour) cross join ${movesIn(
    sql`move.at >= greatest(part.hour, board.start) and move.at < part.hour + interval '1 hour'`,
  )}`;

/**
 * The counted status changes of the last hour that are after the last edge. The count of that hour includes them, so they are
 * subtracted from it and added to the next interval. They exist only if the database's clock is ahead.
 */
const laterMoves = sql`
  select ${statusChanges}, count(*) filter (
    where move.to_status = 'review' and ${reviewedBefore} < (${input("edges")})[cardinality(${input("edges")}) - 1]) as reviewed,
    ${completions}
  from board cross join ${movesIn(sql`move.at >= board.stop and move.at < board.hour_stop and ${countedTransitions.isCounted}`)}`;

const VALUES = {
  board_ids: "uuid[]",
  edges: "timestamptz[]",
  start: "timestamptz",
  stop: "timestamptz",
  /** The end of the hour that contains the last edge. */
  hour_stop: "timestamptz",
  divided_hours: "timestamptz[]",
  divided_days: "timestamptz[]",
  cut_places: "int[]",
  cut_starts: "timestamptz[]",
  cut_ends: "timestamptz[]",
  week_ago: "timestamptz",
};
const selectValues = selectInputs(VALUES);

/**
 * Selects the status changes of boards by interval, and the current tasks. If the window starts within a period, it reads the
 * changes to `review` in that part one by one: the first change of a task in the window is not always its first in the period.
 */
export const selectFlow = preparedQuery(
  (_db, size: BucketSize) => sql`
    with input as materialized (${selectValues})
    , board as materialized (
      select id, input.* from input cross join unnest(input.board_ids) as board(id)
    ), uncounted as materialized (
      select move.* from board cross join ${movesIn(countedTransitions.isUncounted)}
    ), part as (
      select ${placeOf(sql`counts.start`)} as place, ${changes}, counts.reviewed, counts.completed, counts.cycle_ms
      from (${wholeSpans(size)}) as counts
      union all
      select move.place, ${statusChanges},
        count(*) filter (where move.to_status = 'review' and ${reviewedBefore} < (${input("edges")})[move.place]), ${completions}
      from (select move.*, ${placeOf(sql`move.at`)} as place from (${singleMoves}) as move) as move group by move.place
    ), later as (${laterMoves}
    ), tasks_now as (
      select ${changes} from board join ${task_counts} as counts on counts.board_id = board.id
      union all
      select ${statusChanges} from uncounted as move join board on board.id = move.board_id where ${hasTaskCount}
      union all
      select ${taskChanges()} from board cross join lateral (
        select task.status from ${tasks} as task where task.board_id = board.id offset 0) as task
      where not ${hasTaskCount}
    )
    select place, sum(inbox)::int as inbox, sum(in_progress)::int as in_progress, sum(review)::int as review,
      sum(done)::int as done, sum(reviewed)::int as reviewed, sum(completed)::int as completed,
      sum(cycle_ms)::float8 as cycle_ms, null::float8 as median_ms
    from (
      select place, ${changes}, case when place <> all(${input("cut_places")}::int[]) then counts.reviewed else 0 end as reviewed,
        counts.completed, counts.cycle_ms
      from part as counts
      union all
      select cardinality(${input("edges")}), ${changes}, 0, 0, 0 from later as counts
      union all
      select cardinality(${input("edges")}) - 1, -inbox, -in_progress, -review, -done, -reviewed, -completed, -cycle_ms from later
      union all
      select cut.place, ${noChanges}, count(*) filter (where ${reviewedBefore} < cut.start), 0, 0
      from board cross join unnest(board.cut_places, board.cut_starts, board.cut_ends) as cut(place, start, stop)
      cross join ${movesIn(sql`move.to_status = 'review' and move.at >= cut.start and move.at < cut.stop`)} group by 1
    ) as part group by place
    union all
    select null, sum(inbox)::int, sum(in_progress)::int, sum(review)::int, sum(done)::int, 0, 0, 0, (
      select (extract(epoch from percentile_cont(0.5) within group (order by move.at - move.in_progress_at)) * 1000)::float8
      from board cross join ${movesIn(sql`move.to_status = 'done' and move.in_progress_at is not null
        and move.at >= board.week_ago and move.at < board.stop`)})
    from tasks_now`,
);

function taskChanges(): SQL {
  const tasksIn = (status: string) => sql`count(*) filter (where task.status = ${sql.raw(`'${status}'`)})`;
  return sql`${tasksIn("inbox")}, ${tasksIn("in_progress")}, ${tasksIn("review")}, ${tasksIn("done")}`;
}
