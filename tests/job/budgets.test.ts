import { jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test, vi } from "vitest";
import { createDeferredHost } from "../support/deferred-host.ts";
import { addJob, addNotices, getJob, relayOnce } from "../support/jobs.ts";
import { skipProvisioning } from "../support/skip-provisioning.ts";
import { setupWorld } from "../support/fixtures.ts";

const ORGANIZATION = 3;
const GATEWAY = 2;

let host: ReturnType<typeof createDeferredHost>;

const world = await setupWorld({
  limits: { organization_running_jobs: ORGANIZATION, gateway_running_jobs: GATEWAY },
});
const home = await world.tenant("home");
const other = await world.tenant("other");
const body = { name: "Second host", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents" };
const second_gateway_id: string = (await world.call("POST", "/api/v1/gateways", { token: home.owner.token, body })).body.id;
await skipProvisioning(world.db);

beforeEach(async () => {
  await world.db.delete(jobs);
  host = createDeferredHost();
});

const work = (id: string) => deliver({ ...world.context(), gateways: host.gateways }, id);
const statuses = (ids: string[]) => Promise.all(ids.map(async (id) => (await getJob(world, id)).status));
const heldBy = (ids: string[]) => Promise.all(ids.map(async (id) => (await getJob(world, id)).held_by));
/** Starts jobs one after the other; each has called its host before the next one starts. */
async function start(ids: string[]): Promise<{ ends: Promise<void>[] }> {
  const ends: Promise<void>[] = [];
  for (const id of ids) {
    const calls = host.calls.length;
    ends.push(work(id));
    await host.call(calls);
  }
  return { ends };
}

test("a gateway's jobs over its budget wait without an attempt, and whenever a job ends, the oldest waiting job is woken", async () => {
  const ids = await addNotices(world, home, ["a", "b", "c", "d"]);
  const { ends } = await start(ids.slice(0, GATEWAY));
  for (const id of ids.slice(GATEWAY)) await work(id);
  expect([await statuses(ids), await heldBy(ids)]).toEqual([
    ["running", "running", "queued", "queued"],
    [null, null, "gateway", "gateway"],
  ]);
  expect((await getJob(world, ids[2]!)).attempts).toBe(0);
  host.calls[0]!.answer();
  await ends[0];
  expect((await relayOnce(world)).filter(({ delay_seconds }) => delay_seconds === 0)).toMatchObject([{ id: ids[2] }]);
  await start([ids[2]!]);
  await work(ids[3]!);
  expect(await statuses(ids)).toEqual(["done", "running", "running", "queued"]);
});

test("jobs beyond an organization's budget wait, whatever their gateway, while jobs of another organization run", async () => {
  const ids = [
    ...(await addNotices(world, home, ["a", "b"])),
    ...(await addNotices(world, { ...home, gateway_id: second_gateway_id }, ["a", "b"])),
  ];
  await start(ids.slice(0, ORGANIZATION));
  await work(ids[3]!);
  expect([await statuses(ids), await heldBy(ids)]).toEqual([
    ["running", "running", "running", "queued"],
    [null, null, null, "organization"],
  ]);
  const [foreign] = await addNotices(world, other, ["a"]);
  await start([foreign!]);
  expect(await statuses([foreign!])).toEqual(["running"]);
});

test("a job that waits for a slot tries again by itself, in case the wake-up is lost", async () => {
  const ids = await addNotices(world, home, ["a", "b", "c"]);
  await start(ids.slice(0, GATEWAY));
  await work(ids[2]!);
  const polls: number[] = [];
  for (let poll = 0; poll < 4; poll++) {
    const wait_ms = (await getJob(world, ids[2]!)).run_at.getTime() - world.now().getTime();
    polls.push(wait_ms / 1_000);
    world.elapse(wait_ms);
    // Renews the leases of the running jobs, as their workers would.
    await world.db
      .update(jobs)
      .set({ lease_until: new Date(world.now().getTime() + 60_000) })
      .where(eq(jobs.status, "running"));
    await work(ids[2]!);
  }
  expect([polls[0]! >= 1.9, polls[0]! <= 2.6, polls[3]! > 2 * polls[0]!, polls[3]! < 400]).toEqual([true, true, true, true]);
  await world.db.update(jobs).set({ status: "done" }).where(eq(jobs.id, ids[0]!));
  world.elapse((await getJob(world, ids[2]!)).run_at.getTime() - world.now().getTime());
  await start([ids[2]!]);
  expect(await statuses(ids)).toEqual(["done", "running", "running"]);
});

test("a failed attempt frees its slot too", async () => {
  const ids = await addNotices(world, home, ["a", "b", "c"]);
  const { ends } = await start(ids.slice(0, GATEWAY));
  await work(ids[2]!);
  host.calls[0]!.fail("the host is busy");
  await ends[0];
  expect((await relayOnce(world)).filter(({ delay_seconds }) => delay_seconds === 0)).toMatchObject([{ id: ids[2] }]);
});

test("parts of syncs have their own slots, so that they do not hold back notifications", async () => {
  const ids = await addNotices(world, home, ["a", "b"]);
  await start(ids);
  const sync = await addJob(world, home, { gateway_id: home.gateway_id });
  await world.db
    .update(jobs)
    .set({ kind: "sync.finish", payload: { run_id: crypto.randomUUID() } })
    .where(eq(jobs.id, sync));
  await work(sync);
  expect(await statuses([sync])).toEqual(["done"]);
});

test("a job that is taken over from a dead worker keeps its slot", async () => {
  const ids = await addNotices(world, home, ["a", "b", "c"]);
  await start(ids.slice(0, GATEWAY));
  const slots = await getJob(world, ids[0]!);
  world.elapse(61_000);
  await start([ids[0]!]);
  expect(await getJob(world, ids[0]!)).toMatchObject({
    status: "running",
    attempts: 2,
    gateway_slot: slots.gateway_slot,
    organization_slot: slots.organization_slot,
  });
  await work(ids[2]!);
  expect(await heldBy([ids[2]!])).toEqual(["gateway"]);
});

test("jobs that outlive their organization share one budget", async () => {
  const ids = await addNotices(world, home, ["a", "b", "c", "d"]);
  await world.db.update(jobs).set({ organization_id: null, gateway_id: null });
  await start(ids.slice(0, ORGANIZATION));
  await work(ids[3]!);
  expect([await statuses(ids), await heldBy(ids)]).toEqual([
    ["running", "running", "running", "queued"],
    [null, null, null, "organization"],
  ]);
  host.calls[0]!.answer();
  await vi.waitUntil(async () => (await heldBy([ids[3]!]))[0] === null, { timeout: 30_000 });
});

test("with a budget of 0 no job waits for a slot", async () => {
  const unlimited = { ...world.settings.budgets, organization_running_jobs: 0, gateway_running_jobs: 0 };
  const ids = await addNotices(world, home, ["a", "b", "c", "d"]);
  const running = ids.map((id) =>
    deliver({ ...world.context(), gateways: host.gateways, settings: { ...world.settings, budgets: unlimited } }, id),
  );
  await host.call(3);
  expect(await statuses(ids)).toEqual(["running", "running", "running", "running"]);
  for (const call of host.calls) call.answer();
  await Promise.all(running);
});
