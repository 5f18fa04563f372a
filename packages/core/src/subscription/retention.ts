import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { type RemovedBatch, removeInBatches } from "../db/remove-in-batches.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { sealOldAddresses } from "./address.ts";
import { eraseOldSecrets } from "./secret.ts";
import { subscription_deliveries, subscriptions } from "../schema/subscription.sql.ts";

/** How many days a delivery is kept. Its last attempt is made after 28 hours. */
const RETENTION_DAYS = 30;
const BATCH_SIZE = 2_000;

/** Removes old deliveries, deliveries over the budget of their subscription, and expired secrets. Also seals old addresses. */
export async function removeOldDeliveries(ctx: Context): Promise<void> {
  await eraseOldSecrets(ctx);
  await sealOldAddresses(ctx);
  const before = toTimestamp(addMs(ctx.now(), -RETENTION_DAYS * DAY_MS));
  await removeInBatches(BATCH_SIZE, async (size, from) => {
    const result = await ctx.db.execute(sql`
      with removed as (
        delete from ${subscription_deliveries} where ctid = any (array(
          select ctid from ${subscription_deliveries}
          where created_at >= ${from}::timestamptz and created_at < ${before}
          order by created_at limit ${size} for update skip locked))
        returning created_at)
      select count(*)::int as count, max(created_at)::text as last from removed`);
    return rowsOf<RemovedBatch>(result)[0]!;
  });
  await removeBeyondBudget(ctx);
}

async function removeBeyondBudget(ctx: Context): Promise<void> {
  const kept = ctx.settings.budgets.subscription_deliveries;
  await ctx.db.execute(sql`
    delete from ${subscription_deliveries} using (
      select subscription.id, newest.created_at from ${subscriptions} as subscription cross join lateral (
        select delivery.created_at from ${subscription_deliveries} as delivery
        where delivery.subscription_id = subscription.id and delivery.status <> 'pending'
        order by delivery.created_at desc, delivery.id desc offset ${kept} limit 1) as newest) as beyond
    where ${subscription_deliveries}.subscription_id = beyond.id and ${subscription_deliveries}.created_at <= beyond.created_at
      and ${subscription_deliveries}.status <> 'pending'`);
}
