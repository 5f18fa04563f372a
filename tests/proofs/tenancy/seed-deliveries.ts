import {
  board_webhook_payloads,
  board_webhooks,
  gateway_circuits,
  jobs,
  subscription_deliveries,
  subscriptions,
  webhook_payload_usage,
  webhook_usage,
  organizations,
} from "@board/core/schema/all-tables";
import { and, eq, inArray, ne, sql } from "drizzle-orm";
import type { World } from "../../support/world.ts";
import type { Ids } from "./seed-tenant.ts";

const FAILED = { status: "failed", attempts: 12, last_error: "Refused", delivered_at: null, agent_id: null } as const;

/**
 * Stores failed deliveries to agents and subscriptions of these boards, so that a resend for one board that also resends deliveries
 * of another board is detected. Both webhooks of a board have a failed delivery.
 */
export async function seedFailedDeliveries({ db }: World, boards: readonly Ids[]): Promise<void> {
  for (const { payload_id, signed_webhook_id, subscription_id, delivery_id } of boards) {
    const [payload] = await db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, payload_id!));
    const copies = [payload!.webhook_id, signed_webhook_id!].map((webhook_id) => ({
      ...payload!,
      id: crypto.randomUUID(),
      webhook_id,
      notify_job_id: null,
      delivery: FAILED,
    }));
    await db.insert(board_webhook_payloads).values(copies);
    const others = and(
      eq(subscription_deliveries.subscription_id, subscription_id!),
      ne(subscription_deliveries.id, delivery_id!),
    );
    const failed = await db
      .update(subscription_deliveries)
      .set({ status: "failed", last_error: FAILED.last_error })
      .where(others)
      .returning();
    const keys = failed.map(({ id }) => `delivery:${id}`);
    await db.delete(jobs).where(inArray(jobs.dedupe_key, keys));
  }
}

/** Stores a dead job about a board of the other organization, and an open circuit of a gateway without dead jobs. */
export async function seedForeignJobs(world: World, theirs: Ids, spare_gateway_id: string): Promise<void> {
  const { db } = world;
  const now = world.now();
  const { organization_id, board_id, webhook_id, payload_id } = theirs;
  const dead = { status: "dead" as const, attempts: 12, max_attempts: 12, finished_at: now, run_at: now };
  await db
    .insert(jobs)
    .values({ kind: "webhook.notify", organization_id, payload: { board_id, webhook_id, payload_id }, ...dead });
  await db.insert(gateway_circuits).values({
    gateway_id: spare_gateway_id,
    failures: 3,
    retry_at: new Date("2100-01-01"),
    changed_at: now,
    last_error: "away",
  });
}

/**
 * Adds an organization that has reached its limits of stored bytes and of subscriptions, and a full webhook to their board. Only
 * these have bytes in shard 0, since the shards of posts are random.
 */
export async function seedFullOrganization({ db, settings }: World, { board_id }: Ids): Promise<void> {
  const [full] = await db.insert(organizations).values({ name: "Full" }).returning();
  await db.update(webhook_payload_usage).set({ shard: sql`${webhook_payload_usage.shard} + 100` });
  await db.insert(webhook_payload_usage).values({ organization_id: full!.id, shard: 0, bytes: 10 ** 15 });
  const [webhook] = await db.insert(board_webhooks).values({ board_id: board_id!, description: "Full" }).returning();
  await db.update(webhook_usage).set({ shard: sql`${webhook_usage.shard} + 100` });
  await db.insert(webhook_usage).values({ webhook_id: webhook!.id, shard: 0, bytes: 10 ** 15 });
  const receiver = { url: "https://93.184.215.14/", event_types: ["*"], format: "standard" as const };
  await db.insert(subscriptions).values(
    Array.from({ length: settings.budgets.organization_subscriptions }, () => ({
      ...receiver,
      organization_id: full!.id,
      secret_sealed: Buffer.from("x"),
    })),
  );
}
