import { activity_events, gateway_circuits, gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { listJobs } from "@board/core/job/job";
import { redriveJobs } from "@board/core/job/redrive";
import { eq, sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listEvents } from "../support/activity.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { addJob, getPayloadJob, getJob, relayOnce } from "../support/jobs.ts";
import { createWebhook, postPayload } from "../support/webhook.ts";
import { setup, setupWorld } from "../support/fixtures.ts";

const MAX_CRASHES = 5;
const ANOTHER_KEY = /another ENCRYPTION_KEY/;

const world = await setupWorld();
const host = await setup(startFakeGateway({ token: "test-token-123" }));
const home = await world.tenant("home", host.url);

beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
  host.messages.length = 0;
  world.log.length = 0;
});

const work = (id: string) => deliver(world.context(), id);
const loggedOf = (id: string) =>
  world.log.filter(({ event, job_id }) => job_id === id && /^jobs\.(dead|end)/.test(event)).map(({ event }) => event);
const failures = () => listEvents(world, { event_type: "webhook.notify_failed" });

/**
 * Replaces the gateway's token with bytes that this service cannot decrypt, which no handler expects. Returns a function that
 * repairs it.
 */
async function breakToken(): Promise<() => Promise<unknown>> {
  const own = eq(gateways.id, home.gateway_id);
  const [{ token_sealed } = {}] = await world.db.select({ token_sealed: gateways.token_sealed }).from(gateways).where(own);
  await world.db
    .update(gateways)
    .set({ token_sealed: Buffer.alloc(60) })
    .where(own);
  return () => world.db.update(gateways).set({ token_sealed }).where(own);
}

async function notification(): Promise<string> {
  return (await getPayloadJob(world, await postPayload(world, await createWebhook(world, home)))).id;
}

test("a crash of a job is counted and rethrown, so that the queue delivers the wake-up again", async () => {
  const id = await notification();
  await relayOnce(world);
  const repair = await breakToken();
  await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  expect(await getJob(world, id)).toMatchObject({
    status: "queued",
    attempts: 1,
    last_error: expect.stringMatching(ANOTHER_KEY),
  });
  // The queue still has the wake-up; a second one would double the deliveries.
  expect(await relayOnce(world)).toEqual([]);
  await repair();
  await work(id);
  expect([await getJob(world, id), host.messages]).toMatchObject([{ status: "done", attempts: 2, last_error: null }, [{}]]);
});

test("a job that crashes five times becomes dead and is recorded once, and is done once after a repair and a redrive", async () => {
  const id = await notification();
  const repair = await breakToken();
  for (let n = 1; n <= MAX_CRASHES; n++) {
    expect((await getJob(world, id)).status).toBe("queued");
    await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  }
  expect(await getJob(world, id)).toMatchObject({ status: "dead", attempts: MAX_CRASHES });
  expect(world.log.filter((line) => line.event === "jobs.dead")).toMatchObject([{ level: "error", job_id: id }]);
  await work(id);
  expect(await failures()).toMatchObject([{ board_id: home.board_id, agent_id: home.lead.id }]);
  await repair();
  expect(await listJobs(world.context(), "dead")).toMatchObject([{ id }]);
  await redriveJobs(world.context(), [id]);
  await world.drain();
  expect([(await getJob(world, id)).status, host.messages.length, (await failures()).length]).toEqual(["done", 1, 1]);
});

test("a job whose kind this release does not know counts as crashed, and blocks no other lane", async () => {
  const id = await addJob(world, home);
  await world.db.update(jobs).set({ kind: "of.tomorrow" }).where(eq(jobs.id, id));
  for (let n = 1; n <= MAX_CRASHES; n++) {
    await expect(work(id)).rejects.toThrow("of.tomorrow");
    expect(await getJob(world, id)).toMatchObject({ status: n < MAX_CRASHES ? "queued" : "dead", attempts: n });
  }
  const other = await addJob(world, home);
  await work(other);
  expect((await getJob(world, other)).status).toBe("done");
});

test("the end of a job and its failure event are recorded together or not at all", async () => {
  const id = await notification();
  const repair = await breakToken();
  await world.db
    .update(jobs)
    .set({ attempts: MAX_CRASHES - 1, crashes: MAX_CRASHES - 1 })
    .where(eq(jobs.id, id));
  await world.db.execute("alter table activity_events add constraint no_events check (false) not valid");
  await expect(work(id)).rejects.toThrow("activity_events");
  expect(await getJob(world, id)).toMatchObject({ status: "running", attempts: MAX_CRASHES });
  await world.db.execute("alter table activity_events drop constraint no_events");
  world.elapse(60_000);
  await expect(work(id)).rejects.toThrow("Worker exited without reporting (crash 5 of 5)");
  expect([(await getJob(world, id)).status, (await failures()).length]).toEqual(["dead", 1]);
  await repair();
});

describe("a job whose failure cannot be recorded, because the handler fails each time", () => {
  const noEvents = (change: string) => world.db.execute(sql.raw(`alter table activity_events ${change}`));
  const MAX_ROUNDS = 20;

  beforeEach(() => noEvents("add constraint no_events check (false) not valid"));
  afterEach(() => noEvents("drop constraint no_events"));

  /** Runs the job as often as the queue would, until it is dead. */
  async function runUntilDead(id: string): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS && (await getJob(world, id)).status !== "dead"; round++) {
      await work(id).catch(() => {});
      world.elapse(60_000);
    }
  }

  test("it is dead after some crashes, is logged, and leaves its lane to the next job", async () => {
    const id = await notification();
    const lane = "lane of a job that cannot end";
    await world.db.update(jobs).set({ lane }).where(eq(jobs.id, id));
    const repair = await breakToken();
    await runUntilDead(id);
    await repair();
    expect(await getJob(world, id)).toMatchObject({ status: "dead", lease_until: null });
    expect(loggedOf(id)).toEqual(["jobs.dead", "jobs.end_not_recorded"]);
    const next = await addJob(world, home, { lane });
    await work(next);
    expect((await getJob(world, next)).status).toBe("done");
  });

  test("it is dead too if it waited for a host that stays down", async () => {
    const id = await notification();
    const { gateway_id } = home;
    const past = new Date(0);
    await world.db.update(jobs).set({ gateway_id, give_up_at: past }).where(eq(jobs.id, id));
    const retry_at = new Date(world.now().getTime() + 3_600_000);
    await world.db.insert(gateway_circuits).values({ gateway_id, failures: 1, changed_at: past, last_error: "down", retry_at });
    await runUntilDead(id);
    await world.db.delete(gateway_circuits);
    expect(await getJob(world, id)).toMatchObject({ status: "dead", unreachable: true });
    expect(loggedOf(id)).toEqual(["jobs.dead", "jobs.end_not_recorded"]);
  });
});

test("attempts that fail because of a host do not count as crashes of the job", async () => {
  const id = await notification();
  await host.stop();
  for (let n = 1; n <= MAX_CRASHES; n++) {
    await work(id);
    world.elapse(600_000);
  }
  await host.start();
  const repair = await breakToken();
  await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  expect(await getJob(world, id)).toMatchObject({ status: "queued", attempts: MAX_CRASHES + 1, crashes: 1 });
  await repair();
});

test("a job whose worker exits every time without reporting is dead after the last crash and unblocks its lane", async () => {
  const id = await notification();
  const expired = { status: "running", lease_until: new Date(0) } as const;
  await world.db
    .update(jobs)
    .set({ ...expired, attempts: 4, crashes: 4 })
    .where(eq(jobs.id, id));
  await expect(work(id)).rejects.toThrow("Worker exited without reporting (crash 5 of 5)");
  expect([(await getJob(world, id)).status, (await failures()).length, host.messages.length]).toEqual(["dead", 1, 0]);
});
