import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { relay } from "@board/core/job/relay";
import { redriveJobs } from "@board/core/job/redrive";
import { createPendingWakeups, addPendingWakeup } from "@board/core/context/pending-wakeups";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { createDeferredHost } from "../support/deferred-host.ts";
import { addJob, getPayloadJob, getJob, relayOnce } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(() => world.db.delete(jobs));

const add = (lane?: string) => addJob(world, home, lane === undefined ? {} : { lane });
const work = (id: string) => deliver(world.context(), id);
const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await getJob(world, id)).status));
const relayed = async () => (await relayOnce(world)).map((wakeUp) => wakeUp.id).toSorted();

test("a relay sends the first job of each lane, and every job without a lane", async () => {
  const [a1, a2, b1, b2] = [await add("a"), await add("a"), await add("b"), await add("b")];
  const free = [await add(), await add()];
  expect(await relayed()).toEqual([a1, b1, ...free].toSorted());
  await work(a1);
  expect(await relayed()).toEqual([a2]);
  await work(b1);
  expect(await relayed()).toEqual([b2]);
});

test("the jobs of a lane run in the order of enqueueing, whatever the order of the wake-ups", async () => {
  const ids = [await add("a"), await add("a"), await add("a")];
  for (let n = 0; n < ids.length; n++) {
    for (const id of ids.slice(n + 1).toReversed()) await work(id);
    expect(await statuses(ids)).toEqual(ids.map((_, index) => (index < n ? "done" : "queued")));
    await work(ids[n]!);
  }
  expect(await statuses(ids)).toEqual(["done", "done", "done"]);
});

test("a job that waits for its next attempt blocks only its own lane", async () => {
  const ids = [await add("a"), await add("a"), await add("b")];
  await world.db
    .update(jobs)
    .set({ run_at: new Date(world.now().getTime() + 60_000) })
    .where(eq(jobs.id, ids[0]!));
  await world.drain();
  expect(await statuses(ids)).toEqual(["queued", "queued", "done"]);
  world.elapse(60_000);
  await world.drain();
  expect(await statuses(ids)).toEqual(["done", "done", "done"]);
});

test("a lane continues after its first job is dead, and a redriven job runs before the waiting ones", async () => {
  const [first, second] = [await add("a"), await add("a")];
  await world.db.update(jobs).set({ status: "dead" }).where(eq(jobs.id, first));
  expect(await relayed()).toEqual([second]);
  await redriveJobs(world.context(), [first]);
  await work(second);
  expect(await statuses([first, second])).toEqual(["queued", "queued"]);
  expect(await relayed()).toEqual([first]);
});

test("a job that joins a lane ahead of the running job waits until the running job ends", async () => {
  const host = createDeferredHost();
  const webhook = await createWebhook(world, home);
  const [first, second] = [
    await getPayloadJob(world, await postPayload(world, webhook)),
    await getPayloadJob(world, await postPayload(world, webhook)),
  ];
  const deliverHeld = (id: string) => deliver({ ...world.context(), gateways: host.gateways }, id);
  await world.db.update(jobs).set({ status: "dead" }).where(eq(jobs.id, first.id));
  const running = deliverHeld(second.id);
  const call = await host.call(0);
  // Simulates a transaction that drew its number earlier and commits later.
  await redriveJobs(world.context(), [first.id]);
  expect(await relayed()).not.toContain(first.id);
  await deliverHeld(first.id);
  expect(await statuses([first.id, second.id])).toEqual(["queued", "running"]);
  call.answer();
  await running;
  expect(await relayed()).toEqual([first.id]);
  const next = deliverHeld(first.id);
  (await host.call(1)).answer();
  await next;
  expect(await statuses([first.id, second.id])).toEqual(["done", "done"]);
});

test("a job whose worker died is claimed again before a job that joined its lane in front of it", async () => {
  const [first, second] = [await add("a"), await add("a")];
  await world.db.update(jobs).set({ status: "running", attempts: 1, lease_until: world.now() }).where(eq(jobs.id, second));
  await work(first);
  expect(await relayed()).toEqual([second]);
  await work(second);
  expect(await relayed()).toEqual([first]);
});

test("the relay after a change sends the first jobs of the lanes that the change used, even when other jobs wait", async () => {
  const [a1, a2] = [await add("a"), await add("a")];
  await add("b");
  const free = await add();
  await add();
  const wakeups = createPendingWakeups();
  addPendingWakeup(wakeups, { id: a2, lane: "a" });
  addPendingWakeup(wakeups, { id: free, lane: null });
  const sent: string[] = [];
  await relay(
    world.context(),
    async (wakeUps) => {
      sent.push(...wakeUps.map((wakeUp) => wakeUp.id));
      return { failed: [] };
    },
    wakeups,
  );
  expect(sent.toSorted()).toEqual([a1, free].toSorted());
});
