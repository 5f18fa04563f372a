import { sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { headOf } from "./job.ts";
import { jobs } from "./job.sql.ts";

const isLive = sql`status in ('queued', 'running')`;

/**
 * Seconds for which the oldest job that could be done has been waiting; 0 when there is none. What stands behind another
 * job of its lane, or is put off after a failure, cannot be done yet. One statement, which jumps from lane to lane along
 * their index: its cost goes by the lanes with work, not by the length of the backlog.
 */
export async function readJobAge(ctx: Pick<Context, "db" | "now">): Promise<number> {
  const now = sql`${ctx.now().toISOString()}::timestamptz`;
  const nextLane = (beyond = sql`true`) => sql`(
    select lane from ${jobs} where ${isLive} and lane is not null and ${beyond} order by lane limit 1)`;
  const found = await ctx.db.execute(sql`
    with recursive lanes(lane) as (
      select ${nextLane()}
      union all
      select ${nextLane(sql`${jobs}.lane > lanes.lane`)} from lanes where lanes.lane is not null
    ), heads as (
      select status, run_at, lease_until from lanes join ${jobs} on ${jobs}.id = ${headOf(sql`lanes.lane`)}
      union all
      select status, run_at, lease_until from ${jobs} where ${isLive} and lane is null
    )
    select coalesce(max(extract(epoch from ${now} - due)), 0)::float8 as age
    from (select case when status = 'running' then lease_until else run_at end as due from heads) as head
    where due <= ${now}`);
  return rowsOf<{ age: number }>(found)[0]!.age;
}
