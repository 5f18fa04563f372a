import { createHmac } from "node:crypto";
import { board_webhook_payloads, jobs, webhook_payload_usage, webhook_usage } from "@board/core/schema/all-tables";
import type { Webhook } from "@board/core/webhook/webhook";
import { scheduled } from "@board/api/work/schedules";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { addBoard } from "../support/board.ts";
import { createWebhook, post, postPayload } from "../support/webhook.ts";
import { createWorld } from "../support/world.ts";

const LIMIT = 10_000;
const DAY = 86_400_000;
const large = "x".repeat(6_000);

const world = await setupWorld({ limits: { organization_payload_bytes: LIMIT } });

const home = renew((n) => world.tenant(`tenant-${n}`));

const usage = async () => {
  const rows = await world.db.select().from(webhook_payload_usage);
  return rows.filter((row) => row.organization_id === home.organization_id).reduce((sum, { bytes }) => sum + bytes, 0);
};
const remove = (path: string) => world.call("DELETE", path, { token: home.owner.token });

const secret = "known to the sender";
const addSigned = (tenant = home) => createWebhook(world, tenant, { secret });
const postSigned = (webhook: Webhook, body = "{}", headers: Record<string, string> = {}) =>
  post(world, webhook, body, { ...headers, "x-hub-signature-256": createHmac("sha256", secret).update(body).digest("hex") });

/** Creates two webhooks with a secret and posts to both, after which their organization is over its budget. */
async function fill(tenant = home) {
  const webhooks = [await addSigned(tenant), await addSigned(tenant)] as const;
  for (const webhook of webhooks) expect((await postSigned(webhook, large)).status).toBe(202);
  return webhooks;
}

test("posts to an organization over its limit of payload bytes get 429 and store nothing; posts to other organizations are accepted", async () => {
  const [webhook] = await fill();
  const other = await createWebhook(world, await world.tenant("other"));
  const before = await world.db.$count(board_webhook_payloads);
  const refused = await post(world, await createWebhook(world, home), "{}");
  expect([refused.status, refused.body, refused.headers.get("retry-after")]).toEqual([
    429,
    { detail: "The organization has no room for more webhook payloads. Remove webhooks or wait until old payloads expire." },
    "3600",
  ]);
  expect((await postSigned(webhook)).status).toBe(429);
  expect(await world.db.$count(board_webhook_payloads)).toBe(before);
  expect((await post(world, other, "{}")).status).toBe(202);
});

test("members see how much room the payloads of their organization take, and the limit", async () => {
  const read = async (token: string, at = world) => {
    const { status, body } = await at.call("GET", "/api/v1/webhooks/payload-usage", { token });
    expect(status).toBe(200);
    return body;
  };
  const onlooker = await world.member("onlooker", home);
  expect(await read(onlooker.token)).toEqual({ used: 0, limit: LIMIT });
  const [webhook] = await fill();
  const used = await usage();
  expect(used).toBeGreaterThan(12_000);
  expect(await read(home.owner.token)).toEqual({ used, limit: LIMIT });
  expect(await read(onlooker.token)).toEqual({ used, limit: LIMIT });
  expect((await read((await world.tenant("apart")).owner.token)).used).toBe(0);
  const unlimited = await createWorld({ limits: { organization_payload_bytes: 0 } });
  expect(await read((await unlimited.tenant("home")).owner.token, unlimited)).toEqual({ used: 0, limit: null });
  await unlimited.close();
  await remove(webhook.endpoint_path);
  expect((await read(home.owner.token)).used).toBeLessThan(used);
});

test("a removed webhook makes room for the payloads of other webhooks", async () => {
  const webhooks = await fill();
  const other = await addSigned();
  expect((await postSigned(other)).status).toBe(429);
  for (const webhook of webhooks) expect((await remove(webhook.endpoint_path)).status).toBe(200);
  expect(await usage()).toBe(0);
  expect((await postSigned(other)).status).toBe(202);
});

test("a removed board makes room for the payloads of other boards", async () => {
  const { board_id } = await addBoard(world, home);
  await fill({ ...home, board_id });
  const webhook = await createWebhook(world, home);
  expect((await post(world, webhook, "{}")).status).toBe(429);
  expect((await remove(`/api/v1/boards/${board_id}`)).status).toBe(200);
  expect(await usage()).toBe(0);
  expect((await post(world, webhook, "{}")).status).toBe(202);
});

test("expired payloads make room for new ones", async () => {
  const [webhook] = await fill();
  await world.db.update(jobs).set({ status: "done", finished_at: world.now() });
  await world.db
    .update(board_webhook_payloads)
    .set({ received_at: new Date(world.now().getTime() - 91 * DAY) })
    .where(sql`board_id = ${home.board_id}`);
  await scheduled.retention(world.context());
  expect(await usage()).toBe(0);
  expect((await postSigned(webhook)).status).toBe(202);
});

test("a wrong count of an organization over its budget is corrected from its payloads", async () => {
  const webhook = await createWebhook(world, home);
  await postPayload(world, webhook, "{}");
  const stored = await usage();
  await world.db
    .update(webhook_payload_usage)
    .set({ bytes: LIMIT * 5 })
    .where(sql`organization_id = ${home.organization_id}`);
  expect((await post(world, webhook, "{}")).status).toBe(429);
  await scheduled.retention(world.context());
  expect(await usage()).toBe(stored);
  expect((await post(world, webhook, "{}")).status).toBe(202);
});

test("payloads that were stored before their bytes were counted are added to the count", async () => {
  const webhooks = await fill();
  const mine = sql`organization_id = ${home.organization_id}`;
  await world.db.delete(webhook_payload_usage).where(mine);
  await world.db.delete(webhook_usage);
  await world.db.update(board_webhook_payloads).set({ size_bytes: null }).where(sql`board_id = ${home.board_id}`);
  for (const webhook of webhooks) expect((await postSigned(webhook)).status).toBe(202);
  await scheduled.retention(world.context());
  expect(await usage()).toBeGreaterThanOrEqual(2 * large.length);
  const other = await addSigned();
  expect((await postSigned(other)).status).toBe(429);
  expect((await remove(webhooks[0].endpoint_path)).status).toBe(200);
  const full = await postSigned(webhooks[1]);
  expect([full.status, full.body.detail]).toEqual([
    429,
    "The webhook has no room for more payloads. Wait until old payloads expire.",
  ]);
  expect((await postSigned(other)).status).toBe(202);
});

test("the bytes of headers count, since they are stored too", async () => {
  const webhook = await addSigned();
  await postSigned(webhook, "{}", { "x-long": "y".repeat(6_000) });
  expect(await usage()).toBeGreaterThan(6_000);
});

test("a post takes three statements, including the count of its bytes", async () => {
  const webhook = await createWebhook(world, home);
  expect(await world.countStatements(() => postPayload(world, webhook))).toBe(3);
});

test("organization_payload_bytes=0 switches the limit off", async () => {
  const unlimited = await createWorld({ limits: { organization_payload_bytes: 0 } });
  try {
    const webhook = await createWebhook(unlimited, await unlimited.tenant("home"));
    await postPayload(unlimited, webhook);
    await unlimited.db.update(webhook_payload_usage).set({ bytes: 10 ** 12 });
    expect((await post(unlimited, webhook)).status).toBe(202);
  } finally {
    await unlimited.close();
  }
});

test("a signed webhook fills at most half of the room, and beyond that only its own posts get 429", async () => {
  const busy = await addSigned();
  expect((await postSigned(busy, large)).status).toBe(202);
  const refused = await postSigned(busy);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3600"]);
  expect((await postSigned(await addSigned())).status).toBe(202);
});

const small = "x".repeat(400);
const idsOf = async (webhook: Webhook) => {
  const answer = await world.call("GET", `${webhook.endpoint_path}/payloads?limit=200`, { token: home.owner.token });
  return (answer.body.items as { id: string }[]).map(({ id }) => id);
};
const endNotifications = () => world.db.update(jobs).set({ status: "done", finished_at: world.now() });
const postAll = async (webhook: Webhook, posts: number) => {
  const ids: string[] = [];
  for (let count = 0; count < posts; count++) {
    ids.push(await postPayload(world, webhook, small));
    await endNotifications();
  }
  return ids;
};

test("posts that fill an unsigned webhook replace only its own old payloads, and other webhooks keep their room", async () => {
  const open = await createWebhook(world, home);
  const ids = await postAll(open, 40);
  const kept = await idsOf(open);
  expect(kept.length).toBeGreaterThan(1);
  expect(kept).toEqual(ids.slice(-kept.length).reverse());
  expect(await usage()).toBeLessThan(LIMIT / 8 + small.length * 2);
  const signed = await addSigned();
  expect((await postSigned(signed, large)).status).toBe(202);
  expect((await idsOf(signed)).length).toBe(1);
});

test("a payload whose notification is still to be sent is not removed: posts to its unsigned webhook get 429", async () => {
  const open = await createWebhook(world, home);
  const ids: string[] = [];
  let answer = await post(world, open, small);
  while (answer.status === 202) {
    ids.push(answer.body.payload_id);
    answer = await post(world, open, small);
  }
  expect([answer.status, answer.body.detail]).toEqual([
    429,
    "There is no room for more payloads of webhooks without a secret. Give this one a secret, or wait until agents were notified of its payloads or old ones expire.",
  ]);
  expect(await idsOf(open)).toEqual(ids.reverse());
  expect((await postSigned(await addSigned())).status).toBe(202);
  await endNotifications();
  const accepted = await postPayload(world, open, small);
  const kept = await idsOf(open);
  expect(kept[0]).toBe(accepted);
  expect(kept).not.toContain(ids.at(-1));
});

test("many unsigned webhooks together leave a quarter of the room to signed ones", async () => {
  const opened = await Promise.all(Array.from({ length: 10 }, () => createWebhook(world, home)));
  for (const webhook of [...opened, ...opened]) for (let count = 0; count < 3; count++) await post(world, webhook, small);
  expect(await usage()).toBeGreaterThan(LIMIT / 2);
  expect(await usage()).toBeLessThan(LIMIT * 0.75 + small.length * 3);
  expect((await postSigned(await addSigned())).status).toBe(202);
});
