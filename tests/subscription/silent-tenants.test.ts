import { jobs } from "@board/core/schema/all-tables";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { and, count, eq, inArray, isNotNull } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Consumer, startConsumer } from "../../packages/local/src/consumer.ts";
import { type FakeGateway, startFakeGateway } from "../../packages/local/src/fake-gateway/server.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant, type World } from "../support/world.ts";

const SUBSCRIPTIONS = 50;
const TASKS = 3;
/** Far fewer than the deliveries to silent receivers that can run at the same time. */
const FEW_FAILURES = 20;
/** Longer than a silent receiver is waited for. */
const PATIENCE = { timeout: 60_000, interval: 20 };

let world: World;
let host: FakeGateway;
let good: Receiver;
let silent: Receiver;
let hostile: Tenant[];
let other: Tenant;
let consumer: Consumer;

beforeAll(async () => {
  world = await createWorld();
  host = await startFakeGateway({ token: "test-token-123" });
  [good, silent] = await Promise.all([startReceiver(), startReceiver()]);
  silent.answer = () => {};
  hostile = [await world.tenant("hostile"), await world.tenant("another-of-the-same-person")];
  other = await world.tenant("other", host.url);
  await skipProvisioning(world.db);
});
afterAll(async () => {
  await silent.close();
  await consumer.stop();
  await Promise.all([world.close(), good.close(), host.close()]);
});
beforeEach(() => {
  consumer = startConsumer(() => world.context());
});

const relayAll = () => consumer.requestRelay(createPendingWakeups(true));
async function send(tenant: Tenant, path: string, body: object): Promise<{ id: string }> {
  const answer = await world.call("POST", path, { token: tenant.owner.token, body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}
const subscribe = (tenant: Tenant, url: string) => send(tenant, "/api/v1/subscriptions", { url, event_types: ["task.*"] });
const addTask = (tenant: Tenant) => send(tenant, `/api/v1/boards/${tenant.board_id}/tasks`, { title: "Write it down" });

async function countFailures(): Promise<number> {
  const ids = hostile.map(({ organization_id }) => organization_id);
  const failed = and(inArray(jobs.organization_id, ids), isNotNull(jobs.last_error));
  const [row] = await world.db.select({ failures: count() }).from(jobs).where(failed);
  return row!.failures;
}

test("a hundred silent receivers of two organizations keep neither webhooks nor events from another organization", {
  timeout: 120_000,
}, async () => {
  for (const tenant of hostile)
    for (let n = 0; n < SUBSCRIPTIONS; n++) await subscribe(tenant, `${silent.url}/${tenant.organization_id}/${n}`);
  await subscribe(other, good.url);
  const webhook = await createWebhook(world, other);
  for (const tenant of hostile) for (let n = 0; n < TASKS; n++) await addTask(tenant);
  relayAll();
  // Both organizations have as many open deliveries as they get.
  await vi.waitUntil(() => new Set(silent.messages.map(({ path }) => path.split("/")[2])).size === 2, PATIENCE);
  await vi.waitUntil(async () => (await countRunning()) >= FEW_FAILURES, PATIENCE);

  await postPayload(world, webhook);
  await addTask(other);
  relayAll();
  await vi.waitUntil(() => host.messages.length > 0 && good.messages.length > 0, PATIENCE);
  expect(await countFailures()).toBeLessThan(FEW_FAILURES);
});

async function countRunning(): Promise<number> {
  const [row] = await world.db.select({ running: count() }).from(jobs).where(eq(jobs.status, "running"));
  return row!.running;
}
