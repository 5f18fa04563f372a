import { abandonJobs, endJobs, releaseJobs } from "@board/core/job/claim";
import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listEvents } from "../support/activity.ts";
import { createDeferredHost } from "../support/deferred-host.ts";
import { getPayloadJob, getJob, relayOnce } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const LEASE_MS = 60_000;
let host: ReturnType<typeof createDeferredHost>;
let id: string;

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(async () => {
  host = createDeferredHost();
  await world.db.delete(jobs);
  const payload_id = await postPayload(world, await createWebhook(world, home));
  ({ id } = await getPayloadJob(world, payload_id));
});
afterEach(() => vi.useRealTimers());

/** Delivers a wake-up for the job to another consumer, and returns the outcome. */
const work = () => deliver({ ...world.context(), gateways: host.gateways }, id);
const read = () => getJob(world, id);

test("a running job cannot be claimed by another worker", async () => {
  const first = work();
  const call = await host.call(0);
  await work();
  await work();
  expect(await read()).toMatchObject({ status: "running", attempts: 1 });
  call.answer();
  await first;
  expect(await read()).toMatchObject({ status: "done", attempts: 1 });
  expect(host.calls).toHaveLength(1);
});

test("a job whose worker died is sent again and claimed after its lease has expired", async () => {
  await relayOnce(world);
  void work();
  await host.call(0);
  world.elapse(LEASE_MS + 31 * 60_000);
  expect(await relayOnce(world)).toMatchObject([{ id, delay_seconds: 0 }]);
  const second = work();
  (await host.call(1)).answer();
  await second;
  expect(await read()).toMatchObject({ status: "done", attempts: 2 });
});

test("a wake-up for a job that another worker holds is delivered again after the lease has expired", async () => {
  await relayOnce(world);
  void work();
  await host.call(0);
  await work();
  const [wakeUp] = await relayOnce(world);
  expect([wakeUp?.id, wakeUp!.delay_seconds > 0 && wakeUp!.delay_seconds <= 60]).toEqual([id, true]);
});

test("a worker that comes back after another worker took over its lease cannot end the job", async () => {
  const first = work();
  const late = await host.call(0);
  world.elapse(LEASE_MS);
  const second = work();
  const current = await host.call(1);
  late.answer();
  await first;
  expect(await read()).toMatchObject({ status: "running", attempts: 2, finished_at: null });
  current.fail("the host is down");
  await second;
  expect(await read()).toMatchObject({ status: "queued", attempts: 2, last_error: "the host is down" });
});

test("a worker that comes back after its lease was taken over, and then fails, changes nothing and reports nothing, even at the last attempt", async () => {
  await world.db.update(jobs).set({ attempts: 11 }).where(eq(jobs.id, id));
  const first = work();
  const late = await host.call(0);
  world.elapse(LEASE_MS);
  const second = work();
  (await host.call(1)).answer();
  await second;
  const done = await read();
  world.log.length = 0;
  late.fail("the host is down");
  await first;
  expect([done.status, await read()]).toEqual(["done", done]);
  expect(await listEvents(world, { event_type: "webhook.notify_failed" })).toEqual([]);
  expect(world.log.filter((line) => line.event === "jobs.dead")).toEqual([]);
});

test("a worker that comes back while the redriven job runs changes nothing, even if its attempt has the same number", async () => {
  const first = work();
  const late = await host.call(0);
  await world.db.update(jobs).set({ attempts: 11, lease_until: world.now() }).where(eq(jobs.id, id));
  const second = work();
  (await host.call(1)).fail("the host is down");
  await second;
  expect((await read()).status).toBe("dead");
  await world.call("POST", `/api/v1/jobs/${id}/redrive`, { token: home.owner.token });
  const third = work();
  const current = await host.call(2);
  late.fail("the host was slow");
  await first;
  expect(await read()).toMatchObject({ status: "running", attempts: 1, last_error: "the host is down" });
  current.answer();
  await third;
  expect(await read()).toMatchObject({ status: "done", attempts: 1 });
});

test("a request that stops waiting for a job does not take it away from the worker that runs it", async () => {
  const running = work();
  const call = await host.call(0);
  await releaseJobs(world.context(), [id]);
  await abandonJobs(world.context(), [id], world.now());
  expect(await endJobs(world.context(), [id])).toEqual([]);
  expect(await read()).toMatchObject({ status: "running", attempts: 1 });
  await work();
  call.answer();
  await running;
  expect([(await read()).status, host.calls.length]).toEqual(["done", 1]);
});

test("the lease of a slow worker is extended", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const first = work();
  const call = await host.call(0);
  for (let n = 0; n < 6; n++) {
    world.elapse(LEASE_MS / 3);
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3);
    const extended = world.now().getTime() + LEASE_MS / 2;
    await expect.poll(async () => (await read()).lease_until!.getTime(), { timeout: 30_000 }).toBeGreaterThan(extended);
    await work();
  }
  expect(host.calls).toHaveLength(1);
  call.answer();
  await first;
  expect(await read()).toMatchObject({ status: "done", attempts: 1 });
  expect(vi.getTimerCount()).toBe(0);
});

test("an attempt whose worker was killed counts, and the job ends after its last attempt", async () => {
  await world.db.update(jobs).set({ attempts: 11 }).where(eq(jobs.id, id));
  void work();
  await host.call(0);
  world.elapse(LEASE_MS);
  const second = work();
  (await host.call(1)).fail("the host is down");
  await second;
  expect((await read()).status).toBe("dead");
});
