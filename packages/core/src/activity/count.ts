import { is, SQL, sql } from "drizzle-orm";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { forItsValues } from "../db/prepare-often.ts";
import { activity_events } from "./activity.sql.ts";
import { activity_counted, activity_counts } from "./count.sql.ts";

/**
 * Numbers of events: of what is counted by now from `activity_counts`, of the rest from the log. Each is one statement and
 * so one snapshot; a sweep or a removal at the same moment is in it wholly or not at all.
 */

/** Boards by their ids, or as a condition on `boards`. */
export type Boards = readonly string[] | SQL;

const named = (which: Boards): SQL =>
  is(which, SQL)
    ? sql`(select ${boards}.id from ${boards} where ${which}) as board`
    : sql`unnest(${sql.param([...which])}::uuid[]) as board(id)`;

const reached = {
  tx: sql`coalesce((select tx from ${activity_counted}), '0'::xid8)`,
  seq: sql`coalesce((select seq from ${activity_counted}), 0)`,
};

/** Whether an `event` is counted already. */
export const isCounted = sql`(event.tx, event.seq) <= (${reached.tx}, ${reached.seq})`;

/**
 * Whether an `event` is still to be counted. The first line says nothing that the second does not: by bounds on both sides
 * the planner sees that these are few, where by one it takes them for a third of the log.
 */
export const isUncounted = sql`event.tx >= ${reached.tx} and event.tx <= '18446744073709551615'::xid8
  and (event.tx, event.seq) > (${reached.tx}, ${reached.seq})`;

/**
 * The events of a `board` that meet a condition of which an index has all. The offset keeps the planner from joining in another
 * order, where it would read the events of all boards of the service in that span.
 */
const eventsOf = (condition: SQL) => sql`(
  select event.created_at, event.event_type from ${activity_events} as event
  where event.board_id = board.id and ${condition} offset 0) as event`;

/** The hour (UTC) of an `event`. */
export const hourOf = sql`date_trunc('hour', event.created_at, 'UTC')`;

/** Whether an `event` tells of an error. */
export const isFailed = sql`event.event_type like '%failed'`;

export interface EventCount {
  events: number;
  /** Of these, error events: types that end with `failed`. */
  failed: number;
}

const HOUR_MS = 3_600_000;
/** The start of the hour that an instant is in. */
export const startOfHour = (time: Date): Date => new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS);

const times = (list: readonly Date[]) => sql`${sql.param(list.map((time) => time.toISOString()))}::timestamptz[]`;

/**
 * How many events these boards have in each interval. `edges` ascend: interval i is [edges[i], edges[i + 1]), so that
 * there is one answer less than there are edges. Hours that an edge cuts are read from the log.
 */
export async function countEvents(ctx: Context, which: Boards, edges: readonly Date[]): Promise<EventCount[]> {
  if (edges.length < 2) return [];
  const [start, stop] = [edges[0]!, edges.at(-1)!].map((edge) => sql`${edge.toISOString()}::timestamptz`);
  const hours = edges.filter((edge) => edge.getTime() % HOUR_MS !== 0).map((edge) => startOfHour(edge).getTime());
  const cut = times([...new Set(hours)].map((hour) => new Date(hour)));
  const found = await ctx.db.execute(sql`${forItsValues}
    with whole as (
      select width_bucket(counts.hour, ${times(edges)}) as place, sum(counts.events) as events, sum(counts.failed) as failed
      from ${named(which)} join ${activity_counts} as counts on counts.board_id = board.id
      where counts.hour >= ${start} and counts.hour < ${stop} and counts.hour <> all(${cut})
      group by 1
    ), single as (
      select event.* from ${named(which)} cross join lateral ${eventsOf(isUncounted)}
      where event.created_at >= ${start} and event.created_at < ${stop} and ${hourOf} <> all(${cut})
      union all
      select event.* from ${named(which)} cross join unnest(${cut}) as part(hour) cross join lateral ${eventsOf(sql`
        event.created_at >= greatest(part.hour, ${start}) and event.created_at < least(part.hour + interval '1 hour', ${stop})`)}
    ), loose as (
      select width_bucket(event.created_at, ${times(edges)}) as place,
        count(*) as events, count(*) filter (where ${isFailed}) as failed
      from single as event group by 1
    )
    select place, sum(events)::int as events, sum(failed)::int as failed
    from (select * from whole union all select * from loose) as part group by place`);
  const counts = edges.slice(1).map(() => ({ events: 0, failed: 0 }));
  for (const { place, events, failed } of rowsOf<EventCount & { place: number }>(found)) counts[place - 1] = { events, failed };
  return counts;
}

/** How many comments these boards have. */
export const countComments = (ctx: Context, which: Boards): Promise<number> =>
  readTotal(ctx, sql`${ofBoards(which, sql`counts.comments`, sql`event.event_type = 'task.comment'`)}`);

/** How many events these boards have, and with them those of an organization that belong to none of its boards. */
export const countListed = (ctx: Context, which: Boards, boardless_of: string | null): Promise<number> => {
  const onBoards = ofBoards(which, sql`counts.events`, sql`true`);
  const others = sql`(select count(*) from ${activity_events} where organization_id = ${boardless_of} and board_id is null)`;
  return readTotal(ctx, boardless_of === null ? onBoards : sql`${onBoards} + ${others}`);
};

const ofBoards = (which: Boards, counted: SQL, condition: SQL) => sql`(
  select coalesce(sum((
    select ${counted} from ${activity_counts} as counts where counts.board_id = board.id and counts.hour = '-infinity')), 0)
  from ${named(which)}) + (
  select count(*) from ${named(which)} cross join lateral ${eventsOf(isUncounted)} where ${condition})`;

async function readTotal(ctx: Context, total: SQL): Promise<number> {
  const found = await ctx.db.execute(sql`select (${total})::int as total`);
  return rowsOf<{ total: number }>(found)[0]!.total;
}
