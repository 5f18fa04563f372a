import { eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { RemovedBatch } from "../db/retention.ts";
import { idempotency_keys as keys, idempotency_usage as usage } from "../schema/idempotency.sql.ts";

/** Removes the usage counters of owners that have no stored answers. */
export async function removeUnusedCounters(ctx: Context): Promise<void> {
  await ctx.db.execute(sql`delete from ${usage} where size_bytes <= 0`);
}

/** Removes the answers to the requests of an organization that is being deleted. */
export async function removeAnswersOfOrganization(ctx: Context, organization_id: string): Promise<void> {
  await ctx.db.delete(keys).where(eq(keys.owner_id, organization_id));
  await ctx.db.delete(usage).where(eq(usage.owner_id, organization_id));
}

/** Removes the answers to the requests of a user who is being deleted. */
export const removeAnswersOfUser = (ctx: Context, user_id: string) => removeAnswers(ctx, sql`caller_id = ${user_id}`);

/** Removes the answers that meet a condition, and subtracts their bytes from the usage of their owners. */
export async function removeAnswers(ctx: Context, condition: SQL): Promise<RemovedBatch> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${keys} where ${condition} returning owner_id, shard, size_bytes, created_at
    ), freed as (
      select owner_id, shard, sum(size_bytes) as size_bytes from removed group by owner_id, shard
    ), locked as (
      select counted.owner_id, counted.shard, freed.size_bytes
      from ${usage} as counted join freed on counted.owner_id = freed.owner_id and counted.shard = freed.shard
      order by counted.owner_id, counted.shard for update of counted
    ), subtracted as (
      update ${usage} as counted set size_bytes = counted.size_bytes - locked.size_bytes
      from locked where counted.owner_id = locked.owner_id and counted.shard = locked.shard
    )
    select count(*)::int as count, max(created_at)::text as last from removed`);
  return rowsOf<RemovedBatch>(result)[0]!;
}
