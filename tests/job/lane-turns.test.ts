import { jobs } from "@board/core/db/schema";
import type { JobRow } from "@board/core/job/job";
import { createPendingWakeups } from "@board/core/pending-wakeups";
import type { Webhook } from "@board/core/webhook/webhook";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Consumer, startConsumer } from "../../packages/local/src/consumer.ts";
import { createDeferredHost } from "../support/deferred-host.ts";
import { getJob, getPayloadJob } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type World } from "../support/world.ts";

const PAYLOADS = 6;
let world: World;
let webhook: Webhook;
let host: ReturnType<typeof createDeferredHost>;
let consumer: Consumer;

beforeAll(async () => {
  world = await createWorld();
  webhook = await createWebhook(world, await world.tenant("home"));
});
afterAll(() => world.close());
beforeEach(async () => {
  host = createDeferredHost();
  await world.db.delete(jobs);
  consumer = startConsumer(() => ({ ...world.context(), gateways: host.gateways }));
});
afterEach(() => consumer.stop());

/** Posts a payload and asks for a relay of its lane, as the local server does after each request. Returns the job. */
async function notify() {
  const job = await getPayloadJob(world, await postPayload(world, webhook));
  const wakeups = createPendingWakeups();
  wakeups.lanes.add(job.lane!);
  consumer.requestRelay(wakeups);
  return job;
}
const statusOf = async ({ id }: { id: string }) => (await getJob(world, id)).status;

test("payloads that come while their agent is notified follow in order, with three statements each", async () => {
  const first = await notify();
  await host.call(0);
  const others: JobRow[] = [];
  while (others.length < PAYLOADS) others.push(await notify());
  const costs = [];
  for (let n = 0; n < PAYLOADS; n++) {
    world.statements.length = 0;
    host.calls[n]!.answer();
    await host.call(n + 1);
    costs.push(world.statements.length);
    expect(await Promise.all([first, ...others].slice(0, n + 2).map(statusOf))).toEqual([
      ...Array(n + 1).fill("done"),
      "running",
    ]);
  }
  host.calls[PAYLOADS]!.answer();
  await vi.waitUntil(async () => (await statusOf(others.at(-1)!)) === "done");
  // The first answer also records that the host is reachable.
  expect(costs.slice(1)).toEqual(Array(PAYLOADS - 1).fill(3));
});

test("a payload that comes after its agent was idle again is notified", async () => {
  for (const turn of [0, 1]) {
    const job = await notify();
    (await host.call(turn)).answer();
    await vi.waitUntil(async () => (await statusOf(job)) === "done");
  }
  expect(host.calls).toHaveLength(2);
});

test("a notification that fails keeps its place before the next one, and has a wake-up for its next attempt", async () => {
  const first = await notify();
  const call = await host.call(0);
  const second = await notify();
  call.fail("busy");
  await vi.waitUntil(async () => (await getJob(world, first.id)).last_error !== null);
  await vi.waitUntil(async () => (await getJob(world, first.id)).sent_at !== null);
  expect(await getJob(world, first.id)).toMatchObject({ status: "queued", attempts: 1 });
  expect(await getJob(world, second.id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(host.calls).toHaveLength(1);
});

test("two processes take turns with the payloads of one agent, and run none twice", async () => {
  const other = startConsumer(() => ({ ...world.context(), gateways: host.gateways }));
  const all: JobRow[] = [];
  while (all.length < PAYLOADS) all.push(await notify());
  const everything = createPendingWakeups(true);
  other.requestRelay(everything);
  for (let n = 0; n < PAYLOADS; n++) {
    (await host.call(n)).answer();
    other.requestRelay(everything);
  }
  await vi.waitUntil(async () => (await Promise.all(all.map(statusOf))).every((status) => status === "done"));
  await other.stop();
  expect(host.calls).toHaveLength(PAYLOADS);
});
