import { transaction } from "@board/core/context/context";
import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { enqueue } from "@board/core/job/job";
import { relay, relayAll } from "@board/core/job/relay";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { addJob, getJob, relayOnce } from "../support/jobs.ts";
import { setupWorld } from "../support/fixtures.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const world = await setupWorld();
const home = await world.tenant("home");

beforeEach(() => world.db.delete(jobs));

const add = (options = {}) => addJob(world, home, options);
const read = (id: string) => getJob(world, id);
const nothing = () => ({ board_id: home.board_id, webhook_id: crypto.randomUUID(), payload_id: crypto.randomUUID() });
const tenancy = { organization_id: home.organization_id };
const later = (ms: number) => new Date(world.now().getTime() + ms);
const idsOf = (wakeUps: { id: string }[]) => wakeUps.map((wakeUp) => wakeUp.id).toSorted();

test("enqueueing outside a transaction is refused, and inside a transaction the job is stored", async () => {
  const ctx = world.context();
  await expect(enqueue(ctx, "webhook.notify", nothing(), tenancy)).rejects.toThrow("outside a transaction");
  expect(await world.db.$count(jobs)).toBe(0);
  await transaction(ctx, (ctx) => enqueue(ctx, "webhook.notify", nothing(), tenancy));
  expect(await world.db.$count(jobs)).toBe(1);
});

test("a transaction that is rolled back leaves no job", async () => {
  const failing = transaction(world.context(), async (ctx) => {
    await enqueue(ctx, "webhook.notify", nothing(), tenancy);
    throw new Error("the change failed");
  });
  await expect(failing).rejects.toThrow("the change failed");
  expect(await world.db.$count(jobs)).toBe(0);
});

test("a dedupe key has at most one unfinished job, and may be used again after that job has ended", async () => {
  const id = await add({ dedupe_key: "once" });
  const again = () =>
    transaction(world.context(), (ctx) => enqueue(ctx, "webhook.notify", nothing(), { ...tenancy, dedupe_key: "once" }));
  await again();
  await add({ dedupe_key: "another" });
  expect(await world.db.$count(jobs)).toBe(2);
  await world.drain();
  expect((await read(id)).status).toBe("done");
  await again();
  expect(await world.db.$count(jobs)).toBe(3);
});

test("a wake-up carries the job's id, the organization, the delay and the queue, and is sent once", async () => {
  const id = await add({ secret: "not for the queue" });
  const wakeUp = { id, organization_id: home.organization_id, delay_seconds: 0, queue: "deliveries" };
  expect(await relayOnce(world)).toEqual([wakeUp]);
  expect(await relayOnce(world)).toEqual([]);
});

test("more jobs than one batch holds are all sent, each once", async () => {
  const ids = await Promise.all(Array.from({ length: 25 }, () => add()));
  const sent: string[] = [];
  for (let batch = await relayOnce(world); batch.length > 0; batch = await relayOnce(world)) sent.push(...idsOf(batch));
  expect(sent.toSorted()).toEqual(ids.toSorted());
});

test("a request relays a limited number of batches, and the scheduled relay sends the rest", async () => {
  for (let count = 0; count < 35; count++) await add();
  const sent: string[] = [];
  const send = async (wakeUps: { id: string }[]) => {
    sent.push(...idsOf(wakeUps));
    return { failed: [] };
  };
  const ctx = world.context();
  ctx.pendingWakeups.everything = true;
  await relayAll(ctx, send, ctx.pendingWakeups, 2);
  expect(sent).toHaveLength(20);
  await relayAll(ctx, send, ctx.pendingWakeups);
  expect(new Set(sent).size).toBe(35);
});

test("jobs stay unsent while the queue fails, and are sent later and done", async () => {
  const ids = [await add(), await add()];
  const down = async () => {
    throw new Error("the queue is down");
  };
  expect(await relay(world.context(), down)).toBe(0);
  expect(world.log.findLast((line) => line.event === "jobs.relay_failed")).toMatchObject({
    level: "warn",
    error: "the queue is down",
  });
  expect(await world.drain()).toBe(2);
  for (const id of ids) expect((await read(id)).status).toBe("done");
});

test("wake-ups that the queue refuses are sent again, and accepted ones are not", async () => {
  const [taken, refused] = [await add(), await add()];
  expect(await relay(world.context(), async () => ({ failed: [refused] }))).toBe(1);
  expect(idsOf(await relayOnce(world))).toEqual([refused]);
  expect((await read(taken)).status).toBe("queued");
});

test("a job due within 15 minutes goes to the queue with its delay, and a later one waits", async () => {
  const soon = await add({ run_at: later(10 * MINUTE_MS) });
  await add({ run_at: later(20 * MINUTE_MS) });
  const sent = await relayOnce(world);
  expect(idsOf(sent)).toEqual([soon]);
  expect(sent[0]!.delay_seconds > 540 && sent[0]!.delay_seconds <= 600).toBe(true);
  world.elapse(6 * MINUTE_MS);
  expect(await relayOnce(world)).toHaveLength(1);
});

test("a wake-up that comes too early does nothing, and another one is sent", async () => {
  const id = await add({ run_at: later(MINUTE_MS) });
  expect(idsOf(await relayOnce(world))).toEqual([id]);
  await deliver(world.context(), id);
  expect(await read(id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(idsOf(await relayOnce(world))).toEqual([id]);
  world.elapse(MINUTE_MS);
  await deliver(world.context(), id);
  expect(await read(id)).toMatchObject({ status: "done", attempts: 1 });
});

test("a wake-up without effect for 30 minutes counts as lost and is sent again", async () => {
  const id = await add();
  expect(idsOf(await relayOnce(world))).toEqual([id]);
  world.elapse(29 * MINUTE_MS);
  expect(await relayOnce(world)).toEqual([]);
  world.elapse(2 * MINUTE_MS);
  expect(idsOf(await relayOnce(world))).toEqual([id]);
});

test("a wake-up for a finished or unknown job does nothing", async () => {
  const id = await add();
  await world.drain();
  const done = await read(id);
  await deliver(world.context(), id);
  await deliver(world.context(), crypto.randomUUID());
  expect(await read(id)).toEqual(done);
});

test("the secret of a job is encrypted, and erased when the job ends", async () => {
  const id = await add({ secret: "handle with care" });
  expect(Buffer.from((await read(id)).secret_sealed!).includes("handle with care")).toBe(false);
  await world.drain();
  expect(await read(id)).toMatchObject({ status: "done", secret_sealed: null });
});

test("finished jobs are kept for 7 days, dead jobs for 30 days, and unfinished jobs until they end", async () => {
  const [done, dead, live] = [await add(), await add(), await add()];
  await world.db.update(jobs).set({ status: "done", finished_at: world.now() }).where(eq(jobs.id, done));
  await world.db.update(jobs).set({ status: "dead", finished_at: world.now() }).where(eq(jobs.id, dead));
  const left = async () => {
    await scheduled.retention(world.context());
    return idsOf(await world.db.select({ id: jobs.id }).from(jobs));
  };
  world.elapse(7 * DAY_MS - MINUTE_MS);
  expect(await left()).toEqual([done, dead, live].toSorted());
  world.elapse(2 * MINUTE_MS);
  expect(await left()).toEqual([dead, live].toSorted());
  world.elapse(23 * DAY_MS - 2 * MINUTE_MS);
  expect(await left()).toEqual([dead, live].toSorted());
  world.elapse(2 * MINUTE_MS);
  expect(await left()).toEqual([live]);
});
