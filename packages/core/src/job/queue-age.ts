import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { laneHead } from "./lane.ts";
import { jobs } from "../schema/job.sql.ts";

/** The relay runs every five minutes. If a due job has waited for three runs, something is broken. */
export const OVERDUE_SECONDS = 15 * 60;

const isLive = sql`status in ('queued', 'running')`;

/**
 * Returns how many seconds the oldest runnable job has waited, or 0. Jobs that are not due, or behind others of their lane, are not
 * runnable. The recursive query (a loose index scan) jumps from lane to lane, so that its cost does not depend on the backlog.
 */
export async function readJobAge(ctx: Pick<Context, "db" | "now">): Promise<number> {
  const now = sql`${ctx.now().toISOString()}::timestamptz`;
  const nextLane = (condition = sql`true`) => sql`(
    select lane from ${jobs} where ${isLive} and lane is not null and ${condition} order by lane limit 1)`;
  const result = await ctx.db.execute(sql`
    with recursive lanes(lane) as (
      select ${nextLane()}
      union all
      select ${nextLane(sql`${jobs}.lane > lanes.lane`)} from lanes where lanes.lane is not null
    ), heads as (
      select status, run_at, lease_until from lanes join ${jobs} on ${jobs}.id = ${laneHead(sql`lanes.lane`)}
      union all
      select status, run_at, lease_until from ${jobs} where ${isLive} and lane is null
    )
    select coalesce(max(extract(epoch from ${now} - due)), 0)::float8 as age
    from (select case when status = 'running' then lease_until else run_at end as due from heads) as head
    where due <= ${now}`);
  return rowsOf<{ age: number }>(result)[0]!.age;
}
