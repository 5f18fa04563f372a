import { board_webhooks } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { createWebhook, post } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";
import { deliveryOf } from "./senders.ts";

const HOUR = 3_600_000;
const [OLD, NEW, NEWER] = ["whsec_b2xk", "whsec_bmV3", "whsec_bmV3ZXI="];

const world = await setupWorld({ limits: { webhook_refusals_per_minute: 0 } });
const home = await world.tenant("home");

const patch = async (webhook: Webhook, body: object): Promise<Webhook> =>
  (await world.call("PATCH", webhook.endpoint_path, { token: (await renewedOwner()).token, body })).body;
/** Returns the owner with a new token, because the clock has moved by hours and an earlier token may have expired. */
const renewedOwner = () => world.person(home.owner.subject);
async function statusOf(webhook: Webhook, secret: string): Promise<number> {
  const { body, headers } = await deliveryOf("stripe", world.now(), secret);
  return (await post(world, webhook, body, headers)).status;
}
const rowOf = async (webhook: Webhook) =>
  (await world.db.select().from(board_webhooks).where(eq(board_webhooks.id, webhook.id)))[0]!;

test("after a change of the secret both secrets are accepted for 24 hours, then only the new one, and the old one is erased", async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: OLD });
  expect(webhook.previous_secret_until).toBeNull();
  const before = world.now().getTime();
  const changed = await patch(webhook, { secret: NEW });
  const until = Date.parse(changed.previous_secret_until!);
  expect(until >= before + 24 * HOUR && until <= world.now().getTime() + 24 * HOUR).toBe(true);
  expect([await statusOf(webhook, OLD), await statusOf(webhook, NEW), await statusOf(webhook, NEWER)]).toEqual([202, 202, 403]);
  world.elapse(23.9 * HOUR);
  await scheduled.retention(world.context());
  expect(await statusOf(webhook, OLD)).toBe(202);
  world.elapse(0.2 * HOUR);
  expect([await statusOf(webhook, OLD), await statusOf(webhook, NEW)]).toEqual([403, 202]);
  const { updated_at } = await rowOf(webhook);
  await scheduled.retention(world.context());
  expect(await rowOf(webhook)).toMatchObject({ previous_secret_sealed: null, previous_secret_until: null, updated_at });
});

test("a second change within 24 hours keeps the previous secret, but not the one before it", async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: OLD });
  await patch(webhook, { secret: NEW });
  await patch(webhook, { secret: NEWER });
  expect([await statusOf(webhook, OLD), await statusOf(webhook, NEW), await statusOf(webhook, NEWER)]).toEqual([403, 202, 202]);
});

test("previous_secret null ends the overlap at once, alone or with the new secret", async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: OLD });
  await patch(webhook, { secret: NEW });
  expect((await patch(webhook, { previous_secret: null })).previous_secret_until).toBeNull();
  expect([await statusOf(webhook, OLD), await statusOf(webhook, NEW)]).toEqual([403, 202]);
  expect((await patch(webhook, { secret: NEWER, previous_secret: null })).previous_secret_until).toBeNull();
  expect([await statusOf(webhook, NEW), await statusOf(webhook, NEWER)]).toEqual([403, 202]);
});

test("removing the secret and setting another secret keeps no earlier secret", async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: OLD });
  await patch(webhook, { secret: NEW });
  expect(await patch(webhook, { secret: null })).toMatchObject({ has_secret: false, previous_secret_until: null });
  expect(await patch(webhook, { secret: NEWER })).toMatchObject({ has_secret: true, previous_secret_until: null });
  expect([await statusOf(webhook, OLD), await statusOf(webhook, NEW), await statusOf(webhook, NEWER)]).toEqual([403, 403, 202]);
});

test("sending the stored secret and previous_secret null changes nothing, and any other previous_secret is refused", async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: OLD });
  expect(await patch(webhook, { secret: OLD, previous_secret: null })).toEqual(webhook);
  const refused = await world.call("PATCH", webhook.endpoint_path, {
    token: (await renewedOwner()).token,
    body: { previous_secret: "another" },
  });
  expect(refused.status).toBe(422);
});
