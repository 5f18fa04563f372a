import { jobs, subscriptions } from "@board/core/schema/all-tables";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { and, eq, inArray, isNotNull, type SQL } from "drizzle-orm";
import { afterAll, expect, test, vi } from "vitest";
import { startConsumer } from "../../packages/local/src/consumer.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { startReceiver } from "../support/receiver.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { createWorld, type Tenant } from "../support/world.ts";

const SUBSCRIPTIONS = 50;
const TASKS = 3;
/** Far fewer than the deliveries to silent receivers that can run at the same time. */
const FEW_FAILURES = 20;
/** Longer than the service waits for a silent receiver. */
const WAIT = { timeout: 60_000, interval: 20 };

const world = await createWorld();
const host = await startFakeGateway({ token: "test-token-123" });
const [good, silent] = await Promise.all([startReceiver(), startReceiver()]);
silent.answer = () => {};
const hostile: Tenant[] = [await world.tenant("hostile"), await world.tenant("another-of-the-same-person")];
const other = await world.tenant("other", host.url);
await skipProvisioning(world.db);
const consumer = startConsumer(() => world.context());
afterAll(async () => {
  await silent.close();
  await consumer.stop();
  await Promise.all([world.close(), good.close(), host.close()]);
});

const relayAll = () => consumer.requestRelay(createPendingWakeups(true));
async function send(tenant: Tenant, path: string, body: object): Promise<{ id: string }> {
  const answer = await world.call("POST", path, { token: tenant.owner.token, body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}
const subscribe = (tenant: Tenant, url: string) => send(tenant, "/api/v1/subscriptions", { url, event_types: ["task.*"] });
const addTask = (tenant: Tenant) => send(tenant, `/api/v1/boards/${tenant.board_id}/tasks`, { title: "Write it down" });

const countJobs = (of: readonly Tenant[], condition: SQL): Promise<number> =>
  world.db.$count(
    jobs,
    and(
      inArray(
        jobs.organization_id,
        of.map(({ organization_id }) => organization_id),
      ),
      condition,
    ),
  );
const isRunning = and(eq(jobs.kind, "subscription.deliver"), eq(jobs.status, "running"))!;

test("a hundred silent receivers of two organizations delay neither webhooks nor events of another organization", {
  timeout: 120_000,
}, async () => {
  for (const tenant of hostile)
    for (let n = 0; n < SUBSCRIPTIONS; n++) await subscribe(tenant, `${silent.url}/${tenant.organization_id}/${n}`);
  await subscribe(other, good.url);
  const webhook = await createWebhook(world, other);
  for (const tenant of hostile) for (let n = 0; n < TASKS; n++) await addTask(tenant);
  relayAll();
  // Both organizations use their whole budget of running deliveries.
  await vi.waitUntil(() => new Set(silent.messages.map(({ path }) => path.split("/")[2])).size === 2, WAIT);
  await vi.waitUntil(async () => (await countJobs(hostile, isRunning)) >= FEW_FAILURES, WAIT);

  await postPayload(world, webhook);
  await addTask(other);
  relayAll();
  await vi.waitUntil(() => host.messages.length > 0 && good.messages.length > 0, WAIT);
  expect(await countJobs(hostile, isNotNull(jobs.last_error))).toBeLessThan(FEW_FAILURES);
});

test("receivers that recently failed get at most eight of their organization's deliveries at a time, and other receivers do not wait for them", {
  timeout: 90_000,
}, async () => {
  const slow = await world.tenant("slow");
  await skipProvisioning(world.db);
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) ids.push((await subscribe(slow, `${silent.url}/slow/${n}`)).id);
  await world.db.update(subscriptions).set({ throttled: true }).where(eq(subscriptions.organization_id, slow.organization_id));
  await subscribe(slow, `${good.url}/quick`);
  await addTask(slow);
  relayAll();
  await vi.waitUntil(() => good.messages.some(({ path }) => path.endsWith("/quick")), WAIT);
  await vi.waitUntil(async () => (await countJobs([slow], eq(jobs.held_by, "subscription"))) === 4, WAIT);
  // The job of the quick receiver may still run when its message has arrived.
  await expect.poll(() => countJobs([slow], isRunning), WAIT).toBe(8);
  const shown = ids.map((id) => world.call("GET", `/api/v1/subscriptions/${id}/deliveries`, { token: slow.owner.token }));
  const waits = (await Promise.all(shown)).map(({ body }) => body.items[0].waits_for);
  expect(waits.filter((waits_for) => waits_for === "slot")).toHaveLength(4);
});
