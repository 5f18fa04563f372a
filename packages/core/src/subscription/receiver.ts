import { desc, eq } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { subscriptions } from "../schema/subscription.sql.ts";

export interface Receiver {
  url: string;
  organization_id: string;
}

/** Lists the receivers of all organizations' active subscriptions, newest first. Only operators may see it. */
export const listActiveReceivers = (ctx: Pick<Context, "db" | "settings">, limit: number): Promise<Receiver[]> =>
  ctx.db
    .select({ url: subscriptions.url, organization_id: subscriptions.organization_id })
    .from(subscriptions)
    .where(eq(subscriptions.active, true))
    .orderBy(desc(subscriptions.created_at))
    .limit(limit);
