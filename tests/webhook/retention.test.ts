import { board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const DAY = 86_400_000;

const world = await setupWorld();
const home = await world.tenant("home");

/** Stores a payload that was received some days ago, whose notification has ended. */
async function addOld(webhook: Webhook, days: number, target = world): Promise<string> {
  const id = await postPayload(target, webhook);
  const time = new Date(target.now().getTime() - days * DAY);
  await target.db.update(board_webhook_payloads).set({ received_at: time }).where(eq(board_webhook_payloads.id, id));
  await target.db
    .update(jobs)
    .set({ created_at: time, status: "done", finished_at: target.now() })
    .where(sql`payload ->> 'payload_id' = ${id}`);
  return id;
}
const readStatus = async (webhook: Webhook, id: string) =>
  (await world.call("GET", `${webhook.endpoint_path}/payloads/${id}`, { token: home.owner.token })).status;

test("payloads are removed 90 days after they were received, and the path of a removed payload answers 404", async () => {
  const webhook = await createWebhook(world, home);
  const old = await addOld(webhook, 90.1);
  const young = await addOld(webhook, 89.9);
  await scheduled.retention(world.context());
  expect([await readStatus(webhook, old), await readStatus(webhook, young)]).toEqual([404, 200]);
  const list = await world.call("GET", `${webhook.endpoint_path}/payloads`, { token: home.owner.token });
  expect(list.body.items.map(({ id }: { id: string }) => id)).toEqual([young]);
});

test("an old payload stays until its notification has ended", async () => {
  const webhook = await createWebhook(world, home);
  const id = await addOld(webhook, 200);
  const ofPayload = sql`payload ->> 'payload_id' = ${id}`;
  for (const status of ["queued", "running"] as const) {
    await world.db.update(jobs).set({ status, finished_at: null }).where(ofPayload);
    await scheduled.retention(world.context());
    expect(await readStatus(webhook, id), status).toBe(200);
  }
  await world.db.update(jobs).set({ status: "done" }).where(ofPayload);
  await scheduled.retention(world.context());
  expect(await readStatus(webhook, id)).toBe(404);
});

test("more old payloads than one batch holds are removed in one run", async () => {
  const webhook = await createWebhook(world, home);
  const id = await addOld(webhook, 100);
  const [row] = await world.db.select().from(board_webhook_payloads).where(eq(board_webhook_payloads.id, id));
  const { id: _, ...values } = row!;
  await world.db.insert(board_webhook_payloads).values(Array.from({ length: 450 }, () => values));
  await scheduled.retention(world.context());
  expect(await world.db.$count(board_webhook_payloads, eq(board_webhook_payloads.webhook_id, webhook.id))).toBe(0);
});

test("WEBHOOK_PAYLOAD_RETENTION_DAYS=0 keeps payloads forever", async () => {
  const forever = await createWorld({ environment: { WEBHOOK_PAYLOAD_RETENTION_DAYS: "0" } });
  try {
    const tenant = await forever.tenant("home");
    await addOld(await createWebhook(forever, tenant), 10_000, forever);
    await scheduled.retention(forever.context());
    expect(await forever.db.$count(board_webhook_payloads)).toBe(1);
  } finally {
    await forever.close();
  }
});
