import { eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { organization_text_usage as usage } from "../schema/organization-text.sql.ts";
import { organizations } from "../schema/organization.sql.ts";
import { storedTextBytes } from "./stored-text.ts";

const RECOUNT_DAYS = 7;
const BATCH = 50;
/** Time limit of one run. The next run counts the remaining organizations. */
const MAX_RUN_MS = 20_000;

/**
 * Recounts the texts of organizations that were last counted long ago. Triggers already count each change. Recounting adds texts
 * that are older than the triggers, corrects errors, and merges the counter shards of an organization into one.
 */
export async function recountTexts(ctx: Context): Promise<void> {
  const start = performance.now();
  const before = toTimestamp(addMs(ctx.now(), -RECOUNT_DAYS * DAY_MS));
  let ids: string[];
  do {
    const result = await ctx.db.execute(sql`
      select id from ${organizations} where texts_counted_at is null or texts_counted_at < ${before}
      order by texts_counted_at nulls first limit ${BATCH}`);
    ids = rowsOf<{ id: string }>(result).map(({ id }) => id);
    for (const id of ids) await recount(ctx, id);
  } while (ids.length === BATCH && performance.now() - start < MAX_RUN_MS);
}

/**
 * Corrects the counter of an organization by the difference between the size of its texts and the counted size. Both come from one
 * snapshot, which contains a text together with its count or neither. So no lock is needed while other transactions write.
 */
async function recount(ctx: Context, organization_id: string): Promise<void> {
  const mine = sql`organization_id = ${organization_id}`;
  await ctx.db.execute(sql`
    with error as materialized (
      select ${storedTextBytes(organization_id)} - (select coalesce(sum(bytes), 0) from ${usage} where ${mine}) as bytes
    ), merged as (
      delete from ${usage} where ${mine} and shard = any (array(
        select shard from ${usage} where ${mine} for update skip locked))
      returning bytes
    ), counted as (
      update ${organizations} set texts_counted_at = ${toTimestamp(ctx.now())} where id = ${organization_id} returning id
    )
    insert into ${usage} (organization_id, shard, bytes)
    select id, pg_current_xact_id()::text::bigint, (select bytes from error) + (select coalesce(sum(bytes), 0) from merged)
    from counted`);
}

/** Removes the counters of an organization that is being deleted, so that deleting its rows does not update them. */
export async function removeTextUsage(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db.delete(usage).where(eq(usage.organization_id, organization_id));
}
