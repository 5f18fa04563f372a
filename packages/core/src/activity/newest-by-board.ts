import { and, type SQL, sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import { activity_events } from "../schema/activity.sql.ts";

interface NewestByBoard {
  /** A condition on `boards`. */
  boards: SQL;
  /** A condition on the `activity_events` of each board. One index must cover both the board and this condition. */
  events?: SQL | undefined;
  /** A condition for more events to select, for example events without a board. */
  otherEvents?: SQL | undefined;
  /** The position after which the selection starts. */
  after?: SQL | undefined;
  limit: number;
  offset: number;
}

/**
 * Selects ids of events, newest first. It reads the newest events of each board from an index, and selects the newest of these. A
 * single scan would also read the events of boards that the caller may not see.
 */
export function selectNewestByBoard({ boards: condition, events, otherEvents, after, limit, offset }: NewestByBoard): SQL {
  const newest = (where: SQL) => sql`
    select id, created_at from ${activity_events} where ${and(where, after)} order by created_at desc, id desc limit ${limit + offset}`;
  const ofBoard = sql`${activity_events}.board_id = ${boards}.id${events ? sql` and ${events}` : sql``}`;
  return sql`(select id from (
    select event.* from ${boards} cross join lateral (${newest(ofBoard)}) as event where ${condition}
    ${otherEvents ? sql`union all (${newest(otherEvents)})` : sql``}) as event
    order by created_at desc, id desc limit ${limit} offset ${offset})`;
}
