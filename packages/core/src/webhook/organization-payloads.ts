import { eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { webhook_payload_usage } from "../schema/webhook.sql.ts";
import { lazyObject } from "../values/wire.ts";

export const PayloadUsage = lazyObject(() => ({
  used: z.int().describe("Bytes of all webhook payloads of the organization, with their headers."),
  limit: z.int().nullable().describe("Maximum bytes of all these payloads together; null if there is no limit."),
})).meta({ id: "WebhookPayloadUsage", description: "How much storage the webhook payloads of an organization use." });
export type PayloadUsage = z.infer<typeof PayloadUsage>;

export async function getPayloadUsage(ctx: Context<Member>): Promise<PayloadUsage> {
  const { organization_id } = ctx.actor.active;
  const [usage] = await ctx.db
    .select({ used: sql<string>`coalesce(sum(${webhook_payload_usage.bytes}), 0)` })
    .from(webhook_payload_usage)
    .where(eq(webhook_payload_usage.organization_id, organization_id));
  return { used: Number(usage!.used), limit: ctx.settings.budgets.organization_payload_bytes || null };
}
