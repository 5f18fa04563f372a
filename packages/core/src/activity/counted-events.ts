import { type SQL, sql } from "drizzle-orm";
import { countedLog } from "../db/counted-log.ts";
import { activity_counted, activity_counts, activity_day_counts } from "../schema/activity-count.sql.ts";
import { activity_events } from "../schema/activity.sql.ts";

/** The start of the UTC hour of an `event`. */
export const eventHour = sql`date_trunc('hour', event.created_at, 'UTC')`;
const eventDay = sql`date_trunc('day', event.created_at, 'UTC')`;

/** A condition on `event`: whether it is an error event. */
export const isFailed = sql`event.event_type like '%failed'`;

/** Returns a condition on `boards`: whether the board has daily counts in addition to hourly counts. */
export const hasDays = (board_id: SQL): SQL =>
  sql`exists (select 1 from ${activity_day_counts} as marker where marker.board_id = ${board_id} and marker.day = '-infinity')`;

/** Events are counted by board and hour. The daily counts of a board are created from its hourly counts, and then grow with them. */
export const countedEvents = countedLog({
  table: activity_events,
  alias: "event",
  id: "seq",
  position: { table: activity_counted, id: "seq", first: "0" },
  lock_key: 4_207_120,
  columns: sql`event.board_id, event.created_at, event.event_type, event.tx, event.seq`,
  writes: sql`added as (
      insert into ${activity_counts} as counts (board_id, hour, events, failed, comments)
      select event.board_id, coalesce(${eventHour}, '-infinity'), count(*),
        count(*) filter (where ${isFailed}), count(*) filter (where event.event_type = 'task.comment')
      from fresh as event join locked_board on locked_board.id = event.board_id
      group by grouping sets ((event.board_id, ${eventHour}), (event.board_id))
      on conflict (board_id, hour) do update set events = counts.events + excluded.events,
        failed = counts.failed + excluded.failed, comments = counts.comments + excluded.comments
    ), added_days as (
      insert into ${activity_day_counts} as counts (board_id, day, events, failed)
      select event.board_id, ${eventDay}, count(*), count(*) filter (where ${isFailed})
      from fresh as event join locked_board on locked_board.id = event.board_id and locked_board.is_complete
      group by event.board_id, ${eventDay}
      on conflict (board_id, day) do update set events = counts.events + excluded.events, failed = counts.failed + excluded.failed
    )`,
  isComplete: hasDays(sql`board.id`),
  complete: () => sql`
    insert into ${activity_day_counts} (board_id, day, events, failed)
    select counts.board_id, date_trunc('day', counts.hour, 'UTC'), sum(counts.events), sum(counts.failed)
    from board join ${activity_counts} as counts on counts.board_id = board.id
    where counts.hour > '-infinity' group by 1, 2
    union all select id, '-infinity', 0, 0 from board`,
});

export const countNewEvents = countedEvents.countNew;
