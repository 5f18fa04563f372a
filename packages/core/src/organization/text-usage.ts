import { eq, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { organization_text_usage as usage } from "../schema/organization-text.sql.ts";
import { organizations } from "../schema/organization.sql.ts";
import { storedTextBytes } from "./stored-text.ts";

const RECOUNT_DAYS = 7;
/** Of organizations over their budget, so that no error of the count refuses texts for long. */
const FULL_RECOUNT_DAYS = 1;

/**
 * Counts the texts of organizations that were not counted for long. Triggers count each change, so only texts from before they
 * existed and errors are left; the shards of busy hours become one.
 */
export async function recountTexts(ctx: Context): Promise<void> {
  const before = (days: number) => toTimestamp(addMs(ctx.now(), -days * DAY_MS));
  const limit = ctx.settings.budgets.organization_text_bytes;
  const result = await ctx.db.execute(sql`
    select organization.id from ${organizations} as organization
    left join ${usage} as counted on counted.organization_id = organization.id group by organization.id
    having coalesce(max(counted.counted_at), '-infinity') <
      case when ${limit}::bigint > 0 and sum(counted.bytes) >= ${limit}::bigint
        then ${before(FULL_RECOUNT_DAYS)}::timestamptz else ${before(RECOUNT_DAYS)}::timestamptz end`);
  for (const { id } of rowsOf<{ id: string }>(result)) await recount(ctx, id);
}

/**
 * Both sums are of one snapshot, which has each change with its count or neither. So their difference is the error, whatever
 * changes meanwhile, and nobody waits.
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
    )
    insert into ${usage} (organization_id, shard, bytes, counted_at)
    select id, pg_current_xact_id()::text::bigint, (select bytes from error) + (select coalesce(sum(bytes), 0) from merged),
      ${toTimestamp(ctx.now())}
    from ${organizations} where id = ${organization_id}`);
}

/** Removes the counts of an organization that is being deleted, so that the removal of its rows changes none. */
export async function removeTextUsage(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db.delete(usage).where(eq(usage.organization_id, organization_id));
}
