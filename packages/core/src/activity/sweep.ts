import { sql } from "drizzle-orm";
import type { System } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { activity_events } from "./activity.sql.ts";
import { hourOf, isFailed, isUncounted } from "./count.ts";
import { activity_counted, activity_counts } from "./count.sql.ts";
import { holdCounts } from "./lock.ts";

/** Events in one transaction: few enough that a removal hardly notices waiting for it. */
const PORTION = 5_000;
/** Portions of one run; what is left then is for the next one, and meanwhile read from the log. */
const PORTIONS = 200;

/** Adds new events to the counts. */
export async function countNewEvents(ctx: Context<System>): Promise<void> {
  for (let portion = 0; portion < PORTIONS; portion++) if ((await countPortion(ctx)) < PORTION) return;
}

/**
 * Takes events in commit order, from where the last one ended and only of transactions below the oldest one still open:
 * none can turn up behind that place any more, however late it commits. Returns how many there were.
 */
const countPortion = (ctx: Context): Promise<number> =>
  transactionGivingWay(ctx, async (ctx) => {
    await holdCounts(ctx);
    // Boards are held, so that none is removed between its events and its counts.
    const found = await ctx.db.execute(sql`
      with fresh as materialized (
        select event.* from ${boards} as board cross join lateral (
          select event.board_id, event.created_at, event.event_type, event.tx, event.seq from ${activity_events} as event
          where event.board_id = board.id and ${isUncounted} and event.tx < pg_snapshot_xmin(pg_current_snapshot())
          order by event.tx, event.seq limit ${PORTION}) as event
        order by event.tx, event.seq limit ${PORTION}
      ), home as (
        select id from ${boards} where id in (select board_id from fresh) order by id for key share
      ), added as (
        insert into ${activity_counts} as counts (board_id, hour, events, failed, comments)
        select event.board_id, coalesce(${hourOf}, '-infinity'), count(*),
          count(*) filter (where ${isFailed}), count(*) filter (where event.event_type = 'task.comment')
        from fresh as event join home on home.id = event.board_id
        group by grouping sets ((event.board_id, ${hourOf}), (event.board_id))
        on conflict (board_id, hour) do update set events = counts.events + excluded.events,
          failed = counts.failed + excluded.failed, comments = counts.comments + excluded.comments
      ), moved as (
        insert into ${activity_counted} (tx, seq) select tx, seq from fresh order by tx desc, seq desc limit 1
        on conflict ("only") do update set tx = excluded.tx, seq = excluded.seq
      )
      select count(*)::int as total from fresh`);
    return rowsOf<{ total: number }>(found)[0]!.total;
  });
