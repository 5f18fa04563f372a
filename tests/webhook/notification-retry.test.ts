import { jobs } from "@board/core/schema/all-tables";
import { listJobs } from "@board/core/job/job";
import { redriveJobs } from "@board/core/job/redrive";
import type { Webhook } from "@board/core/webhook/webhook";
import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { setupHostedWebhooks } from "../support/hosted-webhook.ts";
import { createWebhook, postPayload, readPayload } from "../support/webhook.ts";
import type { Tenant, World } from "../support/world.ts";

const ATTEMPTS = 12;
/** The delays in seconds between the attempts, before a jitter of 10 %. */
const DELAYS = [10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600];

let world: World;
let host: FakeGateway;
let home: Tenant;
let webhook: Webhook;

const open = setupHostedWebhooks();
beforeEach(async () => {
  ({ world, host, home, webhook } = await open());
});

const job = async (payload_id: string) =>
  (await world.db.select().from(jobs).where(sql`payload ->> 'payload_id' = ${payload_id}`))[0]!;
const gateway = async () => (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token })).body;
const events = (type: string) => listEvents(world, { event_type: type });
const flips = async () => (await events("gateway.%")).map((event) => event.event_type);

/** Runs every attempt when it is due until the job is done or dead. */
async function exhaust(payload_id: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await world.drain();
    const { status, run_at } = await job(payload_id);
    if (status !== "queued") return;
    world.elapse(run_at.getTime() - world.now().getTime() + 1);
  }
}

test("a notification to an unreachable host is tried 12 times, with delays from 10 s to 600 s and a jitter of 10 %", async () => {
  const payload_id = await postPayload(world, webhook);
  await host.stop();
  for (const [index, seconds] of DELAYS.entries()) {
    const before = world.now().getTime();
    await world.drain();
    const after = world.now().getTime();
    const { status, attempts, run_at, last_error } = await job(payload_id);
    expect([status, attempts, last_error]).toEqual(["queued", index + 1, expect.stringMatching(/closed|refused/i)]);
    expect(run_at.getTime()).toBeGreaterThanOrEqual(before + seconds * 900);
    expect(run_at.getTime()).toBeLessThanOrEqual(after + seconds * 1100);
    world.elapse(seconds * 900 - (world.now().getTime() - before) - 1);
    await world.drain();
    expect((await job(payload_id)).attempts).toBe(index + 1);
    world.elapse(run_at.getTime() - world.now().getTime() + 1);
  }
  await world.drain();
  expect(await job(payload_id)).toMatchObject({ status: "dead", attempts: ATTEMPTS });
  world.elapse(86_400_000);
  expect(await world.drain()).toBe(0);
});

test("the last failed attempt is recorded once for the board and its lead; the payload and the memory entry stay", async () => {
  const payload_id = await postPayload(world, webhook, '{"kept":true}');
  await host.stop();
  await exhaust(payload_id);
  const recorded = await events("webhook.notify_failed");
  expect(recorded).toMatchObject([{ organization_id: home.organization_id, board_id: home.board_id, agent_id: home.lead.id }]);
  expect(recorded[0]!.message).toContain(payload_id);
  expect((await readPayload(world, home, webhook, payload_id)).payload).toEqual({ kept: true });
  const memory = await world.call("GET", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token });
  expect(memory.body.items).toMatchObject([{ tags: ["webhook", `webhook:${webhook.id}`, `payload:${payload_id}`] }]);
});

test("a dead notification is listed for the operator and delivered once when it is redriven", async () => {
  const payload_id = await postPayload(world, webhook);
  await host.stop();
  await exhaust(payload_id);
  const { id } = await job(payload_id);
  expect(await listJobs(world.context(), "dead")).toMatchObject([
    { id, kind: "webhook.notify", attempts: ATTEMPTS, last_error: expect.any(String) },
  ]);
  await host.start();
  expect(await redriveJobs(world.context(), [crypto.randomUUID()])).toEqual([]);
  expect(await redriveJobs(world.context())).toEqual([id]);
  expect(await redriveJobs(world.context())).toEqual([]);
  await world.drain();
  expect(host.messages).toMatchObject([
    { session_key: home.lead.session_key, idempotency_key: `webhook-${payload_id}-${home.lead.id}` },
  ]);
  expect([await job(payload_id), await listJobs(world.context(), "dead")]).toMatchObject([
    { status: "done", last_error: null },
    [],
  ]);
});

test("a redriven notification gets all its attempts again", async () => {
  const payload_id = await postPayload(world, webhook);
  await host.stop();
  await exhaust(payload_id);
  await redriveJobs(world.context());
  await exhaust(payload_id);
  expect([await job(payload_id), await events("webhook.notify_failed")]).toMatchObject([
    { status: "dead", attempts: ATTEMPTS },
    [{}, {}],
  ]);
});

test.each([
  ["a permanent error", { code: "INVALID_REQUEST", message: "agent does not exist" }],
  ["an error marked as not retryable", { code: "UNAVAILABLE", message: "gone", retryable: false }],
  ["an error marked as retryable", { code: "UNAVAILABLE", message: "restarting", retryable: true }],
])("a notification is retried after every error of the host: %s", async (_what, error) => {
  host.failNext("chat.send", error, 1);
  const payload_id = await postPayload(world, webhook);
  await world.drain();
  expect(await job(payload_id)).toMatchObject({ status: "queued", attempts: 1, last_error: error.message });
  world.elapse(11_001);
  await world.drain();
  expect([host.messages.length, (await job(payload_id)).status]).toEqual([1, "done"]);
});

test("a lost answer of the host leads to a second call but not to a second message", async () => {
  host.faults.lost_responses["chat.send"] = 1;
  const payload_id = await postPayload(world, webhook);
  await world.drain();
  expect((await job(payload_id)).status).toBe("queued");
  await host.restart();
  await exhaust(payload_id);
  const keys = host.calls
    .filter((call) => call.method === "chat.send")
    .map((call) => (call.params as { idempotencyKey: string }).idempotencyKey);
  expect(keys).toEqual(Array(2).fill(`webhook-${payload_id}-${home.lead.id}`));
  expect([host.messages.length, (await job(payload_id)).status]).toEqual([1, "done"]);
});

test("a job that runs again because its completion was not recorded sends no second message", async () => {
  const payload_id = await postPayload(world, webhook);
  await world.drain();
  await world.db
    .update(jobs)
    .set({ status: "queued", sent_at: null, finished_at: null })
    .where(eq(jobs.id, (await job(payload_id)).id));
  await world.drain();
  expect(await job(payload_id)).toMatchObject({ status: "done", attempts: 2 });
  expect(host.messages).toHaveLength(1);
});

test("later messages to an agent wait for a failed message to this agent, and messages to other agents do not", async () => {
  const other = await createWebhook(world, home, { agent_id: home.worker.id });
  host.failNext("chat.send", { message: "not now" }, 1);
  await postPayload(world, webhook, "lead 1");
  await world.drain();
  for (const [target, body] of [
    [webhook, "lead 2"],
    [other, "worker 1"],
    [webhook, "lead 3"],
    [other, "worker 2"],
  ] as const)
    await postPayload(world, target, body);
  const received = () => host.messages.map(({ message }) => message.split("\n").at(-2));
  await world.drain();
  expect(received()).toEqual(["worker 1", "worker 2"]);
  world.elapse(11_001);
  await world.drain();
  expect(received()).toEqual(["worker 1", "worker 2", "lead 1", "lead 2", "lead 3"]);
});

test("a dead notification does not block the agent's next one", async () => {
  const first = await postPayload(world, webhook, "first");
  await host.stop();
  await exhaust(first);
  // Within a day, the job would be queued again when the host returns.
  world.elapse(25 * 3_600_000);
  await host.start();
  const second = await postPayload(world, webhook, "second");
  // The host was down for an hour, so it is tried once a minute.
  world.elapse(60_000);
  await world.drain();
  expect([(await job(first)).status, (await job(second)).status, host.messages.length]).toEqual(["dead", "done", 1]);
});

test("a gateway's connectivity and error follow the outcome of each notification, and each change is recorded once", async () => {
  expect(await gateway()).toMatchObject({ connected: true, last_error: null });
  expect(await flips()).toEqual([]);
  for (const round of [1, 2]) {
    await host.stop();
    const payload_id = await postPayload(world, webhook);
    await world.drain();
    world.elapse(11_001);
    await world.drain();
    expect((await job(payload_id)).attempts).toBe(2);
    expect(await gateway()).toMatchObject({ connected: false, last_error: expect.stringMatching(/refused/i) });
    expect(await flips()).toHaveLength(2 * round - 1);
    await host.start();
    world.elapse(22_001);
    await postPayload(world, webhook);
    await world.drain();
    expect(await gateway()).toMatchObject({ connected: true, last_error: null });
  }
  expect(await flips()).toEqual(["gateway.disconnected", "gateway.connected", "gateway.disconnected", "gateway.connected"]);
  expect(
    (await events("gateway.%")).every((event) => event.organization_id === home.organization_id && event.board_id === null),
  ).toBe(true);
});

test("a host that answers with an error counts as connected", async () => {
  host.failNext("sessions.patch", { message: "no" }, 1);
  await postPayload(world, webhook);
  await world.drain();
  expect(await gateway()).toMatchObject({ connected: true });
  expect(await flips()).toEqual([]);
});

test("a host that refuses the credentials counts as disconnected, and the stored error shows no token", async () => {
  host.host.options.token = "another-token-456";
  await host.stop();
  await host.start();
  const payload_id = await postPayload(world, webhook);
  await world.drain();
  world.elapse(11_001);
  await world.drain();
  const { connected, last_error } = await gateway();
  const stored = await job(payload_id);
  expect([connected, last_error, stored.status, stored.attempts]).toEqual([
    false,
    expect.stringMatching(/authentication/),
    "queued",
    2,
  ]);
  expect(await flips()).toEqual(["gateway.disconnected"]);
  expect(`${last_error} ${stored.last_error} ${JSON.stringify(world.log)}`).not.toMatch(/another-token-456|test-token-123/);
});
