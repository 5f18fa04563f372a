import { createHmac } from "node:crypto";
import { board_webhook_payloads, jobs, webhook_delivery_ids, webhook_payload_usage } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { openServerWorld } from "../support/postgres-world.ts";
import { onLambda } from "../support/target.ts";
import { createWebhook, post, postPayload } from "../support/webhook.ts";
import { setup } from "../support/fixtures.ts";
import { deliveryOf, SENDER_NAMES, SENDERS } from "./senders.ts";

const DAY = 86_400_000;
const REPEATS = onLambda ? 100 : 1_000;

const environment = { WEBHOOK_RATE_PER_MINUTE: "0", WEBHOOK_PAYLOAD_RETENTION_DAYS: "1" };
const server = await setup(openServerWorld({ environment }));
const { world } = server;
const home = await world.tenant("home");

const storedIn = (webhook: Webhook) => world.db.$count(board_webhook_payloads, eq(board_webhook_payloads.webhook_id, webhook.id));
const jobsOf = (webhook: Webhook) => world.db.$count(jobs, sql`payload ->> 'webhook_id' = ${webhook.id}`);
async function memoryOf(webhook: Webhook) {
  const path = `/api/v1/boards/${home.board_id}/memory?limit=200`;
  const { items } = (await world.call("GET", path, { token: home.owner.token })).body;
  return items.filter((entry: { tags: string[] }) => entry.tags.includes(`webhook:${webhook.id}`)).length;
}
const bytesInUse = async () => {
  const rows = await world.db.select().from(webhook_payload_usage);
  return rows.reduce((sum, row) => sum + row.bytes, 0);
};

test.each(SENDER_NAMES)(
  "a repeated delivery of %s names the first payload, and is neither stored nor announced again",
  async (source) => {
    const webhook = await createWebhook(world, home, { source, secret: SENDERS[source].secret });
    const { body, headers } = await deliveryOf(source, world.now());
    const first = await post(world, webhook, body, headers);
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([202, null]);
    const bytes = await bytesInUse();
    const later = await deliveryOf(source, new Date(world.now().getTime() + 60_000));
    for (const repeat of [await post(world, webhook, body, headers), await post(world, webhook, later.body, later.headers)]) {
      expect([repeat.status, repeat.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
      expect(repeat.body).toEqual(first.body);
    }
    expect([await storedIn(webhook), await jobsOf(webhook), await memoryOf(webhook)]).toEqual([1, 1, 1]);
    expect(await bytesInUse()).toBe(bytes);
  },
);

test(`one of ${REPEATS} concurrent repeats is stored, and all answers name it`, { timeout: 120_000 }, async () => {
  const webhook = await createWebhook(world, home, { source: "stripe", secret: SENDERS.stripe.secret });
  const { body, headers } = await deliveryOf("stripe", world.now());
  // A busy service answers 503 to some requests, and senders repeat those.
  const send = async () => {
    for (;;) {
      const answer = await post(world, webhook, body, headers);
      if (answer.status !== 503) return answer;
    }
  };
  const answers = await Promise.all(Array.from({ length: REPEATS }, send));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  expect(new Set(answers.map((answer) => answer.body.payload_id)).size).toBe(1);
  expect(answers.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
  expect([await storedIn(webhook), await jobsOf(webhook), await memoryOf(webhook)]).toEqual([1, 1, 1]);
});

/** Returns the headers of a captured request with changes that an attacker can make, because these headers are not signed. */
const changed = (headers: Record<string, string>, changes: Record<string, string | null>) =>
  Object.fromEntries(Object.entries({ ...headers, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null));

test.each([
  ["github", "x-github-delivery", {}],
  ["linear", "linear-delivery", {}],
  ["sentry", "request-id", { "sentry-hook-timestamp": "later" }],
] as const)("a captured post of %s is a repeated delivery, whatever id it is given", async (source, header, times) => {
  const webhook = await createWebhook(world, home, { source, secret: SENDERS[source].secret });
  const { body, headers } = await deliveryOf(source, world.now());
  const first = await post(world, webhook, body, headers);
  const later = Object.fromEntries(Object.keys(times).map((name) => [name, `${Math.floor(world.now().getTime() / 1000) + 200}`]));
  for (const id of ["another", "one more", null]) {
    const repeat = await post(world, webhook, body, changed(headers, { ...later, [header]: id }));
    expect([repeat.status, repeat.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
    expect(repeat.body).toEqual(first.body);
  }
  expect([await storedIn(webhook), await jobsOf(webhook), await memoryOf(webhook)]).toEqual([1, 1, 1]);
});

test("a signed generic body that came with an id is recognized under another id or without an id; bodies without ids are all stored", async () => {
  const webhook = await createWebhook(world, home, { secret: "known" });
  const signed = (body: string) => ({ "x-webhook-signature": createHmac("sha256", "known").update(body).digest("hex") });
  const first = await postPayload(world, webhook, "{}", { ...signed("{}"), "idempotency-key": "1" });
  for (const headers of [{ "idempotency-key": "2" }, { "webhook-id": "3" }, {}]) {
    const upper = { "x-webhook-signature": `SHA256=${signed("{}")["x-webhook-signature"].toUpperCase()}` };
    for (const signature of [signed("{}"), upper]) {
      const repeat = await post(world, webhook, "{}", { ...signature, ...headers });
      expect([repeat.body.payload_id, repeat.headers.get("idempotent-replayed")]).toEqual([first, "true"]);
    }
  }
  // A sender without ids may mean the same bytes as different events.
  for (let count = 0; count < 2; count++) await postPayload(world, webhook, "[]", signed("[]"));
  expect(await storedIn(webhook)).toBe(3);
});

test("a signed body is recognized for 7 days, and then its row is removed", async () => {
  const webhook = await createWebhook(world, home, { source: "github", secret: SENDERS.github.secret });
  const { body, headers } = await deliveryOf("github", world.now());
  const send = async (id: string) => (await post(world, webhook, body, { ...headers, "x-github-delivery": id })).body.payload_id;
  const mine = eq(webhook_delivery_ids.webhook_id, webhook.id);
  const moveBack = () =>
    world.db
      .update(webhook_delivery_ids)
      .set({ received_at: new Date(world.now().getTime() - 7.01 * DAY) })
      .where(mine);
  const first = await send("first");
  expect(await send("second")).toBe(first);
  await moveBack();
  expect(await send("third")).not.toBe(first);
  await moveBack();
  await scheduled.retention(world.context());
  expect(await world.db.$count(webhook_delivery_ids, mine)).toBe(0);
});

test("a generic webhook recognizes Idempotency-Key and webhook-id; without them all posts are stored", async () => {
  const webhook = await createWebhook(world, home);
  for (const name of ["idempotency-key", "webhook-id"]) {
    const first = await postPayload(world, webhook, "{}", { [name]: `${name} 1` });
    const repeat = await post(world, webhook, '{"other":1}', { [name]: `${name} 1` });
    expect([repeat.body.payload_id, repeat.headers.get("idempotent-replayed")]).toEqual([first, "true"]);
    expect(await postPayload(world, webhook, "{}", { [name]: `${name} 2` })).not.toBe(first);
  }
  expect(await postPayload(world, webhook)).not.toBe(await postPayload(world, webhook));
  const long = { "idempotency-key": "k".repeat(201) };
  expect(await postPayload(world, webhook, "{}", long)).not.toBe(await postPayload(world, webhook, "{}", long));
});

test("a delivery id is recognized only by the webhook that it was sent to", async () => {
  const headers = { "idempotency-key": "the same" };
  const ids = new Set<string>();
  for (const tenant of [home, home, await world.tenant("abroad")])
    ids.add(await postPayload(world, await createWebhook(world, tenant), "{}", headers));
  expect(ids.size).toBe(3);
});

test("a delivery is recognized for 7 days, even when its payload was removed, and is stored again afterwards", async () => {
  const webhook = await createWebhook(world, home);
  const headers = { "idempotency-key": "an old one" };
  const send = async () => (await post(world, webhook, "{}", headers)).body.payload_id;
  const moveBack = (days: number) =>
    world.db
      .update(webhook_delivery_ids)
      .set({ received_at: new Date(world.now().getTime() - days * DAY) })
      .where(eq(webhook_delivery_ids.webhook_id, webhook.id));
  const first = await send();
  await moveBack(6.99);
  await world.db.delete(board_webhook_payloads).where(eq(board_webhook_payloads.id, first));
  await scheduled.retention(world.context());
  expect(await send()).toBe(first);
  await moveBack(7.01);
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  const [second, ...others] = [...new Set(answers)];
  expect(others).toEqual([]);
  expect(second).not.toBe(first);
  expect(await storedIn(webhook)).toBe(1);
  await moveBack(7.01);
  await scheduled.retention(world.context());
  expect(await world.db.$count(webhook_delivery_ids, eq(webhook_delivery_ids.webhook_id, webhook.id))).toBe(0);
});

test("a refused post does not use up a delivery id", async () => {
  const webhook = await createWebhook(world, home, { source: "github", secret: SENDERS.github.secret });
  const { body, headers } = await deliveryOf("github", world.now());
  expect((await post(world, webhook, `${body} `, headers)).status).toBe(403);
  const accepted = await post(world, webhook, body, headers);
  expect([accepted.status, accepted.headers.get("idempotent-replayed")]).toEqual([202, null]);
});

test("a delivery with an id costs as many statements as one without", async () => {
  const webhook = await createWebhook(world, home);
  const count = (headers: Record<string, string>) => world.countStatements(() => postPayload(world, webhook, "{}", headers));
  await count({});
  expect(await count({ "idempotency-key": "counted" })).toBe(await count({}));
});
