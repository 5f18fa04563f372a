import { jobs } from "@board/core/schema/all-tables";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { relayAll } from "@board/core/job/relay";
import { eq, isNotNull } from "drizzle-orm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Consumer, startConsumer } from "../../packages/local/src/consumer.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { setup } from "../support/fixtures.ts";

/** More jobs than a process runs for one organization at a time, so that some wait for slots. */
const JOBS = 40;
const MINUTE_MS = 60_000;
const WAIT = { timeout: 30_000, interval: 50 };

const consumers: Consumer[] = [];

const server = await setup(openServerWorld());
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const home = await server.world.tenant("home", host.url);
await skipProvisioning(server.world.db);

beforeEach(() => server.world.db.delete(jobs));
afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
});

const everything = () => createPendingWakeups(true);

/** Starts a consumer, which stands for a process with its queue in memory. */
function startProcess(): Consumer {
  const consumer = startConsumer(() => server.world.context());
  consumers.push(consumer);
  return consumer;
}

/** Adds jobs without a lane, each of which runs only when its own wake-up arrives. */
async function addProbes(run_at: Date): Promise<void> {
  const { organization_id, gateway_id } = home;
  const probe = { kind: "gateway.probe", organization_id, gateway_id, payload: { gateway_id }, run_at, max_attempts: 1 };
  await server.world.db.insert(jobs).values(Array.from({ length: JOBS }, () => probe));
}
const count = (status: "queued" | "done") => server.world.db.$count(jobs, eq(jobs.status, status));
const countSent = () => server.world.db.$count(jobs, isNotNull(jobs.sent_at));

test("the delayed jobs that a process holds when it is stopped are done by another process", async () => {
  const first = startProcess();
  await addProbes(new Date(server.world.now().getTime() + 1_500));
  first.requestRelay(everything());
  await vi.waitUntil(async () => (await countSent()) === JOBS, WAIT);
  await first.stop();
  expect(await count("queued")).toBe(JOBS);
  const second = startProcess();
  second.requestRelay(everything());
  await vi.waitUntil(async () => (await count("done")) === JOBS, WAIT);
});

test("the jobs that wait for a slot in a process when it is stopped are done by another process", async () => {
  const first = startProcess();
  await addProbes(server.world.now());
  first.requestRelay(everything());
  await vi.waitUntil(async () => (await countSent()) === JOBS, WAIT);
  await first.stop();
  expect(await count("queued")).toBeGreaterThan(0);
  startProcess().requestRelay(everything());
  await vi.waitUntil(async () => (await count("done")) === JOBS, WAIT);
});

test("the jobs whose wake-ups a killed process held are done by another process after a minute", async () => {
  await addProbes(server.world.now());
  // The wake-ups are accepted and then lost, as by a process that is killed at once.
  await relayAll(server.world.context(), async () => ({ failed: [] }), everything());
  const second = startProcess();
  server.world.elapse(MINUTE_MS / 2);
  second.requestRelay(everything());
  await second.stop();
  expect(await count("queued")).toBe(JOBS);
  server.world.elapse(MINUTE_MS);
  startProcess().requestRelay(everything());
  await vi.waitUntil(async () => (await count("done")) === JOBS, WAIT);
});
