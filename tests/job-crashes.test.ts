import { activity_events, gateways, jobs } from "@board/core/db/schema";
import { deliver } from "@board/core/deliver";
import { listJobs, redriveJobs } from "@board/core/job/job";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { addJob, jobOf, readJob, relayOnce } from "./support/jobs.ts";
import { createWebhook, deposit } from "./support/webhook.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const MAX_CRASHES = 5;
const ANOTHER_KEY = /another ENCRYPTION_KEY/;
let world: World;
let host: FakeGateway;
let home: Tenant;

beforeAll(async () => {
  world = await createWorld();
  host = await startFakeGateway({ token: "test-token-123" });
  home = await world.tenant("home", host.url);
});
afterAll(async () => {
  await world.close();
  await host.close();
});
beforeEach(async () => {
  await world.drain();
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
  host.messages.length = 0;
  world.log.length = 0;
});

const work = (id: string) => deliver(world.context(), id);
const failures = () => world.db.select().from(activity_events).where(eq(activity_events.event_type, "webhook.notify_failed"));

/** Puts a notification before a gateway token that this service cannot open, which no handler expects; returns the way to mend it. */
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
  return (await jobOf(world, await deposit(world, await createWebhook(world, home)))).id;
}

test("a crash is thrown, so that the queue brings the wake-up back, and is counted", async () => {
  const id = await notification();
  await relayOnce(world);
  const mend = await breakToken();
  await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  expect(await readJob(world, id)).toMatchObject({
    status: "queued",
    attempts: 1,
    last_error: expect.stringMatching(ANOTHER_KEY),
  });
  // The queue has the wake-up; a second one would double its receives.
  expect(await relayOnce(world)).toEqual([]);
  await mend();
  await work(id);
  expect([await readJob(world, id), host.messages]).toMatchObject([{ status: "done", attempts: 2, last_error: null }, [{}]]);
});

test("a job that crashes five times is dead, recorded once, and delivered once when redriven after the repair", async () => {
  const id = await notification();
  const mend = await breakToken();
  for (let n = 1; n <= MAX_CRASHES; n++) {
    expect((await readJob(world, id)).status).toBe("queued");
    await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  }
  expect(await readJob(world, id)).toMatchObject({ status: "dead", attempts: MAX_CRASHES });
  expect(world.log.filter((line) => line.event === "jobs.dead")).toMatchObject([{ level: "error", job_id: id }]);
  await work(id);
  expect(await failures()).toMatchObject([{ board_id: home.board_id, agent_id: home.lead.id }]);
  await mend();
  expect(await listJobs(world.context(), "dead")).toMatchObject([{ id }]);
  await redriveJobs(world.context(), [id]);
  await world.drain();
  expect([(await readJob(world, id)).status, host.messages.length, (await failures()).length]).toEqual(["done", 1, 1]);
});

test("a job of a kind that this release does not know is treated as a crash, and holds up nobody else", async () => {
  const id = await addJob(world, home);
  await world.db.update(jobs).set({ kind: "of.tomorrow" }).where(eq(jobs.id, id));
  for (let n = 1; n <= MAX_CRASHES; n++) {
    await expect(work(id)).rejects.toThrow("of.tomorrow");
    expect(await readJob(world, id)).toMatchObject({ status: n < MAX_CRASHES ? "queued" : "dead", attempts: n });
  }
  const other = await addJob(world, home);
  await work(other);
  expect((await readJob(world, other)).status).toBe("done");
});

test("when the end of a job cannot be recorded its event is not recorded either", async () => {
  const id = await notification();
  const mend = await breakToken();
  await world.db
    .update(jobs)
    .set({ attempts: MAX_CRASHES - 1, crashes: MAX_CRASHES - 1 })
    .where(eq(jobs.id, id));
  await world.db.execute("alter table activity_events add constraint no_events check (false) not valid");
  await expect(work(id)).rejects.toThrow("activity_events");
  expect(await readJob(world, id)).toMatchObject({ status: "running", attempts: MAX_CRASHES });
  await world.db.execute("alter table activity_events drop constraint no_events");
  world.elapse(60_000);
  await expect(work(id)).rejects.toThrow("without a word");
  expect([(await readJob(world, id)).status, (await failures()).length]).toEqual(["dead", 1]);
  await mend();
});

test("what a host fails does not count against a job that then crashes once", async () => {
  const id = await notification();
  await host.stop();
  for (let n = 1; n <= MAX_CRASHES; n++) {
    await work(id);
    world.elapse(600_000);
  }
  await host.start();
  const mend = await breakToken();
  await expect(work(id)).rejects.toThrow(ANOTHER_KEY);
  expect(await readJob(world, id)).toMatchObject({ status: "queued", attempts: MAX_CRASHES + 1, crashes: 1 });
  await mend();
});

test("a job whose worker ends without a word each time is given up, and does not hold up its lane for ever", async () => {
  const id = await notification();
  const gone = { status: "running", lease_until: new Date(0) } as const;
  await world.db
    .update(jobs)
    .set({ ...gone, attempts: 4, crashes: 4 })
    .where(eq(jobs.id, id));
  await expect(work(id)).rejects.toThrow("without a word");
  expect([(await readJob(world, id)).status, (await failures()).length, host.messages.length]).toEqual(["dead", 1, 0]);
});
