import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { subscription_deliveries, subscriptions } from "../schema/subscription.sql.ts";
import { hasOpenJob } from "./store.ts";

/**
 * Removes ended deliveries, oldest first, from each subscription that has more deliveries than its budget allows. A failed
 * delivery whose dead job was redriven has not ended.
 */
export async function removeDeliveriesBeyondBudget(ctx: Context): Promise<void> {
  const kept = ctx.settings.budgets.subscription_deliveries;
  await ctx.db.execute(sql`
    delete from ${subscription_deliveries} using (
      select subscription.id, newest.created_at, newest.id as delivery_id from ${subscriptions} as subscription cross join lateral (
        select delivery.created_at, delivery.id from ${subscription_deliveries} as delivery
        where delivery.subscription_id = subscription.id and delivery.status <> 'pending'
        order by delivery.created_at desc, delivery.id desc offset ${kept} limit 1) as newest) as beyond
    where ${subscription_deliveries}.subscription_id = beyond.id
      and (${subscription_deliveries}.created_at, ${subscription_deliveries}.id) <= (beyond.created_at, beyond.delivery_id)
      and ${subscription_deliveries}.status <> 'pending' and not ${hasOpenJob}`);
}
