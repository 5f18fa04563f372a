import { agents, board_webhook_payloads, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import type { ListedPayload } from "@board/core/webhook/payload";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq, ne } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { setupHostedWebhooks } from "../support/hosted-webhook.ts";
import { getPayloadJob } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import type { Tenant, World } from "../support/world.ts";

const DAY_MS = 86_400_000;
const ATTEMPTS = 12;

let world: World;
let host: FakeGateway;
let home: Tenant;
let webhook: Webhook;

const open = setupHostedWebhooks();
beforeEach(async () => {
  ({ world, host, home, webhook } = await open());
});

const asOwner = (method: string, path: string, body?: object) =>
  world.call(method, `${webhook.endpoint_path}${path}`, { token: home.owner.token, body });
const delivery = async (id: string) => (await asOwner("GET", `/payloads/${id}`)).body.delivery;
const redeliver = (id: string) => asOwner("POST", `/payloads/${id}/redeliver`);
const redeliverAll = (body: object) => asOwner("POST", "/redeliver", body);
const listed = async (delivery_status: string) => {
  const { body } = await asOwner("GET", `/payloads?delivery_status=${delivery_status}`);
  return { total: body.total, ids: body.items.map(({ id }: ListedPayload) => id) };
};
const job = (payload_id: string) => getPayloadJob(world, payload_id);

/** Stops the host and lets time pass until its notifications are given up. */
async function failDeliveries(): Promise<void> {
  await host.stop();
  while ((await world.db.$count(jobs, ne(jobs.status, "dead"))) > (await world.db.$count(jobs, eq(jobs.status, "done")))) {
    await world.drain();
    world.elapse(10 * 60_000);
  }
}

test("a payload shows that its notification waits, and then when and to which agent it was delivered", async () => {
  const id = await postPayload(world, webhook);
  const { run_at } = await job(id);
  expect(await delivery(id)).toEqual({
    status: "queued",
    attempts: 0,
    last_error: null,
    waits_for: null,
    next_attempt_at: run_at.toISOString(),
    delivered_at: null,
    agent_id: null,
  });
  await world.drain();
  const { finished_at } = await job(id);
  const delivered = {
    status: "delivered",
    attempts: 1,
    last_error: null,
    waits_for: null,
    next_attempt_at: null,
    delivered_at: finished_at!.toISOString(),
    agent_id: home.lead.id,
  };
  expect(await delivery(id)).toEqual(delivered);
  expect((await asOwner("GET", "/payloads")).body.items[0].delivery).toEqual(delivered);
});

test("a payload shows the error and the time of the next attempt, and finally that its delivery failed", async () => {
  const id = await postPayload(world, webhook);
  await host.stop();
  await world.drain();
  expect(await delivery(id)).toMatchObject({
    status: "retrying",
    attempts: 1,
    last_error: expect.stringMatching(/closed|refused/i),
    next_attempt_at: (await job(id)).run_at.toISOString(),
    delivered_at: null,
  });
  await failDeliveries();
  expect(await delivery(id)).toMatchObject({ status: "failed", attempts: ATTEMPTS, next_attempt_at: null, agent_id: null });
});

test("a payload that waits for its host shows why, and when the host is tried next", async () => {
  await host.stop();
  const first = await postPayload(world, webhook);
  await world.drain();
  const other = await createWebhook(world, home, { agent_id: home.worker.id });
  const behind = await postPayload(world, webhook);
  const elsewhere = await postPayload(world, other);
  world.elapse(1_000);
  const answers = [
    await delivery(behind),
    (await world.call("GET", `${other.endpoint_path}/payloads/${elsewhere}`, { token: home.owner.token })).body.delivery,
    (await world.call("GET", `/api/v1/jobs?kind=webhook.notify&status=queued`, { token: home.owner.token })).body.items[1],
  ];
  for (const waiting of answers) {
    expect(waiting).toMatchObject({
      status: "queued",
      attempts: 0,
      waits_for: "gateway",
      last_error: expect.stringMatching(/closed|refused/i),
    });
    expect(Date.parse(waiting.next_attempt_at)).toBeGreaterThanOrEqual(world.now().getTime());
  }
  expect(await delivery(first)).toMatchObject({ status: "retrying", waits_for: "gateway" });
});

test("a payload without an agent to notify shows that no agent was found", async () => {
  await world.db.update(agents).set({ openclaw_session_id: null }).where(eq(agents.id, home.lead.id));
  const id = await postPayload(world, webhook);
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "no_target", delivered_at: null, agent_id: null });
});

test("payloads are listed by the status of their delivery", async () => {
  const delivered = await postPayload(world, webhook);
  await world.drain();
  const failed = await postPayload(world, webhook);
  await failDeliveries();
  const queued = await postPayload(world, webhook);
  expect(await listed("delivered")).toEqual({ total: 1, ids: [delivered] });
  expect(await listed("failed")).toEqual({ total: 1, ids: [failed] });
  expect(await listed("queued")).toEqual({ total: 1, ids: [queued] });
  expect(await listed("no_target")).toEqual({ total: 0, ids: [] });
  expect((await asOwner("GET", "/payloads?delivery_status=failed&offset=1")).body).toMatchObject({ items: [], total: 1 });
  expect((await asOwner("GET", "/payloads?delivery_status=lost")).status).toBe(422);
});

test("a payload keeps the outcome of its delivery when its job has expired", async () => {
  const delivered = await postPayload(world, webhook);
  await world.drain();
  const failed = await postPayload(world, webhook);
  await failDeliveries();
  const before = { delivered: await delivery(delivered), failed: await delivery(failed) };
  world.elapse(31 * DAY_MS);
  await scheduled.retention(world.context());
  expect(await world.db.$count(jobs)).toBe(0);
  expect({ delivered: await delivery(delivered), failed: await delivery(failed) }).toEqual(before);
  expect(await listed("failed")).toEqual({ total: 1, ids: [failed] });
});

test("a payload that was stored before deliveries were recorded shows no delivery", async () => {
  const id = await postPayload(world, webhook);
  await world.db.update(board_webhook_payloads).set({ notify_job_id: null }).where(eq(board_webhook_payloads.id, id));
  expect(await delivery(id)).toBeNull();
});

test("a filtered payload has the status `filtered` until somebody redelivers it", async () => {
  webhook = await createWebhook(world, home, { source: "github", event_types: ["push"] });
  const id = await postPayload(world, webhook, "{}", { "x-github-event": "ping" });
  await postPayload(world, webhook, "{}", { "x-github-event": "push" });
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "filtered", attempts: 0 });
  const both = await asOwner("GET", "/payloads?delivery_status=filtered&event_type=push");
  expect(both.body.total).toBe(0);
  expect(await listed("filtered")).toEqual({ total: 1, ids: [id] });
  await redeliver(id);
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "delivered" });
});

test("a delivered payload that is redelivered reaches the agent once more, under a different idempotency key", async () => {
  const id = await postPayload(world, webhook);
  await world.drain();
  const answer = await redeliver(id);
  expect([answer.status, answer.body]).toEqual([202, { ok: true, redelivered: 1, has_more: false }]);
  expect(await delivery(id)).toMatchObject({ status: "queued" });
  await world.drain();
  expect(await delivery(id)).toMatchObject({ status: "delivered", agent_id: home.lead.id });
  expect(host.messages.map(({ message }) => message.includes(id))).toEqual([true, true]);
  expect((await redeliver(crypto.randomUUID())).status).toBe(404);
});

test("redelivering a failed payload replaces its dead job, so that redriving does not notify the agent twice", async () => {
  const id = await postPayload(world, webhook);
  await failDeliveries();
  const dead = await job(id);
  await redeliver(id);
  expect((await job(id)).id).not.toBe(dead.id);
  const redriven = await world.call("POST", "/api/v1/jobs/redrive", { token: home.owner.token, body: {} });
  expect(redriven.body).toMatchObject({ redriven: 0 });
});

test("all failed payloads since a time are redelivered, oldest first, and no other payloads are", async () => {
  const early = await postPayload(world, webhook, '"early"');
  await failDeliveries();
  // More than a day after its end, the job is not queued again when the host returns.
  world.elapse(DAY_MS);
  const since = world.now().toISOString();
  world.elapse(60_000);
  const ids = [await postPayload(world, webhook, '"first"')];
  world.elapse(1_000);
  ids.push(await postPayload(world, webhook, '"second"'));
  await failDeliveries();
  for (const id of ids) expect(await delivery(id)).toMatchObject({ status: "failed" });
  expect((await redeliverAll({ status: "failed", since })).body).toEqual({ ok: true, redelivered: 2, has_more: false });
  expect((await redeliverAll({ status: "failed", since })).body).toMatchObject({ redelivered: 0 });
  await host.start();
  world.elapse(120_000);
  await world.drain();
  const told = host.messages.map(({ message }) => ids.findIndex((id) => message.includes(id)));
  expect(told).toEqual([0, 1]);
  expect(await delivery(early)).toMatchObject({ status: "failed" });
  expect((await redeliverAll({ status: "delivered" })).status).toBe(422);
});

test("simultaneous redeliveries of a payload notify the agent only once", async () => {
  const id = await postPayload(world, webhook);
  await world.drain();
  host.messages.length = 0;
  const answers = await Promise.all([1, 2, 3, 4].map(() => redeliver(id)));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
  await world.drain();
  expect(host.messages).toHaveLength(1);
});

test("redelivering and redriving a failed payload at the same time notify the agent once", async () => {
  const ids = [await postPayload(world, webhook), await postPayload(world, webhook)];
  await failDeliveries();
  const redrive = () => world.call("POST", "/api/v1/jobs/redrive", { token: home.owner.token, body: {} });
  const answers = await Promise.all([
    redeliverAll({ status: "failed" }),
    redrive(),
    redeliverAll({ status: "failed" }),
    redrive(),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([202, 200, 202, 200]);
  expect(answers.reduce((sum, { body }) => sum + (body.redelivered ?? body.redriven), 0)).toBe(2);
  await host.start();
  world.elapse(120_000);
  await world.drain();
  for (const id of ids) expect(host.messages.filter(({ message }) => message.includes(id))).toHaveLength(1);
});

test("a payload that is being redelivered does not expire before the agent is notified", async () => {
  const id = await postPayload(world, webhook);
  await world.drain();
  world.elapse(91 * DAY_MS);
  await redeliver(id);
  await scheduled.retention(world.context());
  expect(await delivery(id)).toMatchObject({ status: "queued" });
  await world.drain();
  await scheduled.retention(world.context());
  expect((await asOwner("GET", `/payloads/${id}`)).status).toBe(404);
});
