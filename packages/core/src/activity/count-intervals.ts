import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { input, selectInputs } from "../db/stable-plan.ts";
import { preparedQuery } from "../db/prepared.ts";
import { toIntervalValues } from "../values/time.ts";
import { activity_counts, activity_day_counts } from "../schema/activity-count.sql.ts";
import { boardEvents } from "./count.ts";
import { countedEvents, eventHour, hasDays, isFailed } from "./counted-events.ts";

export interface EventCount {
  events: number;
  /** Events whose type ends with `failed`. */
  failed: number;
}

/**
 * Counts the events of boards in each interval [edges[i], edges[i + 1]); `edges` must ascend. It reads daily counts, hourly counts
 * for a day that contains an edge, and the log for an hour that contains an edge. For the hour of the last edge, which may have
 * many events, it subtracts those after the edge from the hourly count.
 */
export async function countEvents(ctx: Context, board_ids: readonly string[], edges: readonly Date[]): Promise<EventCount[]> {
  if (edges.length < 2) return [];
  const result = await selectCounts(ctx.db).execute({ board_ids: [...board_ids], ...toIntervalValues(edges) });
  const counts = edges.slice(1).map(() => ({ events: 0, failed: 0 }));
  for (const { place, events, failed } of rowsOf<EventCount & { place: number }>(result)) counts[place - 1] = { events, failed };
  return counts;
}

const selectValues = selectInputs({
  board_ids: "uuid[]",
  edges: "timestamptz[]",
  start: "timestamptz",
  stop: "timestamptz",
  hour_stop: "timestamptz",
  divided_hours: "timestamptz[]",
  divided_days: "timestamptz[]",
});
const placeOf = (time: SQL) => sql`width_bucket(${time}, ${input("edges")})`;

/**
 * Returns a subquery of the hourly counts of one board. `offset 0` makes PostgreSQL read each board separately. The condition
 * compares whole rows, so that only the primary key can serve it: with `hour >= …`, a cached plan used the index over the hours
 * of all boards.
 */
const countedIn = (from: SQL, until: SQL) => sql`lateral (
  select counts.hour, counts.events, counts.failed from ${activity_counts} as counts
  where (counts.board_id, counts.hour) >= (board.id, ${from}) and (counts.board_id, counts.hour) < (board.id, ${until})
    and counts.hour <> all(board.divided_hours) offset 0)`;

const selectCounts = preparedQuery(
  () => sql`
    with input as materialized (${selectValues})
    , board as materialized (
      select id, ${hasDays(sql`id`)} as has_days, input.* from input cross join unnest(input.board_ids) as board(id)
    ), whole as (
      select ${placeOf(sql`counts.day`)} as place, sum(counts.events) as events, sum(counts.failed) as failed
      from board cross join lateral (
        select counts.day, counts.events, counts.failed from ${activity_day_counts} as counts
        where counts.board_id = board.id and counts.day >= board.start and counts.day < board.stop
          and counts.day <> all(board.divided_days) offset 0
      ) as counts where board.has_days group by 1
      union all
      select ${placeOf(sql`counts.hour`)}, sum(counts.events), sum(counts.failed)
      from board cross join unnest(board.divided_days) as part(day)
      cross join ${countedIn(sql`greatest(part.day, board.start)`, sql`least(part.day + interval '24 hours', board.stop)`)} as counts
      where board.has_days group by 1
      union all
      select ${placeOf(sql`counts.hour`)}, sum(counts.events), sum(counts.failed)
      from board cross join ${countedIn(sql`board.start`, sql`board.stop`)} as counts where not board.has_days group by 1
    ), single as (
      select event.* from board cross join lateral ${boardEvents(countedEvents.isUncounted)}
      where ${placeOf(sql`event.created_at`)} between 1 and cardinality(board.edges) - 1
        and ${eventHour} <> all(board.divided_hours)
      union all
      select event.* from board cross join unnest(board.divided_hours) as part(hour) cross join lateral ${boardEvents(sql`
        event.created_at >= greatest(part.hour, board.start)
        and event.created_at < least(part.hour + interval '1 hour', board.stop)`)}
    ), loose as (
      select ${placeOf(sql`event.created_at`)} as place, count(*) as events, count(*) filter (where ${isFailed}) as failed
      from single as event group by 1
      union all
      select cardinality(${input("edges")}) - 1, -count(*), -count(*) filter (where ${isFailed})
      from board cross join lateral ${boardEvents(sql`
        event.created_at >= board.stop and event.created_at < board.hour_stop and ${countedEvents.isCounted}`)}
    )
    select place, sum(events)::int as events, sum(failed)::int as failed
    from (select * from whole union all select * from loose) as part group by place`,
);
