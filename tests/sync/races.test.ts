import { randomUUID } from "node:crypto";
import { agents, gateways, jobs } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { claimJobs } from "@board/core/job/claim";
import { scheduled } from "@board/api/work/schedules";
import { and, eq, isNotNull } from "drizzle-orm";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { isAccepted } from "../support/http.ts";
import { openServerWorld } from "../support/postgres-world.ts";
import { listRunAgents, listRuns, createSyncFixture, type SyncAgent, type SyncFixture } from "../support/sync-fixture.ts";
import { setup } from "../support/fixtures.ts";

// A server gives consumers and requests separate connections. No job may wait for a slot, because the tests deliver each job once.
const { world } = await setup(openServerWorld({ limits: { organization_running_jobs: 0, gateway_running_jobs: 0 } }));

beforeEach(async () => {
  await world.db.delete(jobs);
});

async function start(more = 0): Promise<SyncFixture & { all: SyncAgent[] }> {
  const fixture = await createSyncFixture(world, "2026.9.6");
  onTestFinished(() => fixture.fake.close());
  const added = Array.from({ length: more }, (_, n): SyncAgent => {
    const id = randomUUID();
    const entry_id = `mc-${id}`;
    return {
      id,
      name: `Agent ${n}`,
      token: "",
      session_key: `agent:${entry_id}:main`,
      entry_id,
      workspace: `/srv/agents/workspace-${entry_id}`,
    };
  });
  const { gateway_id, board_id } = fixture.home;
  if (more > 0)
    await world.db
      .insert(agents)
      .values(added.map(({ id, name, session_key }) => ({ id, name, gateway_id, board_id, openclaw_session_id: session_key })));
  fixture.install(...added);
  return { ...fixture, all: [fixture.lead, fixture.worker, ...added, fixture.main] };
}
const ASYNC = { headers: { prefer: "respond-async" } };
const queued = (kind: string) =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.kind, kind), eq(jobs.status, "queued")));

test("several consumers of one run finish it only once: the consumer that finishes the last agent also finishes the run", async () => {
  const { sync, run, all, calls, home } = await start(20);
  const { run_id } = (await sync("rotate_tokens=true", ASYNC)).body;
  await Promise.all(
    (await queued("sync.start")).flatMap(({ id }) => [deliver(world.context(), id), deliver(world.context(), id)]),
  );
  const list = await queued("sync.agent");
  expect(list).toHaveLength(all.length);
  // Every wake-up is delivered twice, as a queue may do.
  await Promise.all(list.flatMap(({ id }) => [deliver(world.context(), id), deliver(world.context(), id)]));
  const finishing = await queued("sync.finish");
  expect(finishing).toHaveLength(1);
  await Promise.all([1, 2, 3].map(() => deliver(world.context(), finishing[0]!.id)));
  const { status, result } = (await run(run_id)).body;
  expect([status, result.errors, result.total_synced]).toEqual(["done", [], all.length]);
  expect([calls("config.patch").length, (await listRuns(world, home.gateway_id)).length]).toEqual([1, 1]);
});

test("a sync run and sync requests for the same agents at the same time leave each agent with the token that is on its host", async () => {
  const fixture = await start();
  const { sync, all, tokenOnHost, run, fake } = fixture;
  fake.faults.delays_ms = { "agents.files.set": 10 };
  const { run_id } = (await sync("rotate_tokens=true", ASYNC)).body;
  await Promise.all([
    world.drain(),
    ...[1, 2, 3].map(async () => {
      const { body } = await sync("rotate_tokens=true");
      expect([body.errors, body.total_synced]).toEqual([[], 3]);
    }),
  ]);
  await world.drain();
  expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
  for (const agent of all) expect(await isAccepted(world, tokenOnHost(agent)!)).toBe(true);
});

test("a sync that waits for one agent releases the agents that are done, so that other syncs can continue", async () => {
  const { sync, lead, worker, home } = await start();
  await sync("", ASYNC);
  for (const { id } of await queued("sync.start")) await deliver(world.context(), id);
  const jobOf = async ({ entry_id }: SyncAgent) =>
    (await queued("sync.agent")).find(({ lane }) => lane === `${home.gateway_id}/${entry_id}`)!.id;
  const [held, other] = [await jobOf(worker), await jobOf(lead)];
  expect(await claimJobs(world.context(), [held])).toEqual([held]);
  const answer = sync();
  const started = () => world.db.$count(jobs, and(eq(jobs.lane, `${home.gateway_id}/${lead.entry_id}`), eq(jobs.attempts, 1)));
  await expect.poll(started, { timeout: 15_000 }).toBe(1);
  const isDone = async () => {
    await deliver(world.context(), other);
    return !(await queued("sync.agent")).some(({ id }) => id === other);
  };
  await expect.poll(isDone, { timeout: 15_000 }).toBe(true);
  await world.db.update(jobs).set({ status: "queued", lease_until: null }).where(eq(jobs.id, held));
  expect((await answer).body).toMatchObject({ total_synced: 3, errors: [] });
});

test("agents that are removed during a sync do not stop it and are not created again", async () => {
  const { sync, all, fake, home, run } = await start(10);
  fake.faults.delays_ms = { "agents.files.set": 30 };
  const removed = all.slice(2, 8);
  const remove = ({ id }: SyncAgent) => world.call("DELETE", `/api/v1/agents/${id}`, { token: home.owner.token });
  /** Delivers the jobs of the syncs, without the clean-ups of removed agents, which take long and have tests elsewhere. */
  const deliverSyncs = async () => {
    for (const kind of ["sync.start", "sync.agent", "sync.finish"])
      await Promise.all((await queued(kind)).map(({ id }) => deliver(world.context(), id)));
  };
  const { run_id } = (await sync("rotate_tokens=true", ASYNC)).body;
  const [answer] = await Promise.all([sync("rotate_tokens=true"), deliverSyncs(), ...removed.map(remove)]);
  expect(answer.status).toBe(200);
  await world.db.delete(jobs).where(eq(jobs.kind, "agent.cleanup"));
  for (let round = 0; round < 3; round++) await deliverSyncs();
  const { status, result } = (await run(run_id)).body;
  expect(status).toBe("done");
  for (const body of [answer.body, result]) expect(body.total_synced + body.total_errors).toBeLessThanOrEqual(all.length);
  expect((await listRunAgents(world, run_id)).some((row) => row.status === "waiting")).toBe(false);
  expect(await world.db.$count(agents, eq(agents.gateway_id, home.gateway_id))).toBe(all.length - removed.length);
});

test("several workers that claim the same jobs share them, and only one job of a lane runs at a time", async () => {
  const organization_id = (await start()).home.organization_id;
  const values = { kind: "notice", payload: {}, organization_id, run_at: world.now(), max_attempts: 1 };
  const made = await world.db
    .insert(jobs)
    .values(Array.from({ length: 40 }, (_, n) => ({ ...values, lane: `lane ${n % 20}` })))
    .returning();
  const ids = made.map(({ id }) => id);
  const taken = (await Promise.all(Array.from({ length: 8 }, () => claimJobs(world.context(), ids)))).flat();
  expect(new Set(taken).size).toBe(taken.length);
  while ((await claimJobs(world.context(), ids)).length > 0);
  const running = (await world.db.select().from(jobs)).filter(({ status }) => status === "running");
  expect([running.length, new Set(running.map(({ lane }) => lane)).size]).toEqual([20, 20]);
});

test("workers that claim jobs of the same lanes in different orders do not deadlock", async () => {
  const organization_id = (await start()).home.organization_id;
  const values = { kind: "notice", payload: {}, organization_id, run_at: world.now(), max_attempts: 1 };
  for (let round = 0; round < 10; round++) {
    const lists = await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        const step = worker % 2 === 0 ? 7 : 1;
        const lanes = Array.from({ length: 20 }, (_, n) => `round ${round} lane ${(n * step + worker) % 20}`);
        const made = await world.db
          .insert(jobs)
          .values(lanes.map((lane) => ({ ...values, lane })))
          .returning({ id: jobs.id });
        return made.map(({ id }) => id);
      }),
    );
    const taken = (await Promise.all(lists.map((ids) => claimJobs(world.context(), ids)))).flat();
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.length).toBeLessThanOrEqual(20);
  }
});

test("several runs of the schedule at the same time sync a gateway that is due only once", async () => {
  const { home } = await start();
  const due = { sync_interval_minutes: 60, sync_due_at: new Date(0) };
  await world.db.update(gateways).set(due).where(eq(gateways.id, home.gateway_id));
  await Promise.all(Array.from({ length: 8 }, () => scheduled.sync(world.context())));
  expect(await listRuns(world, home.gateway_id)).toHaveLength(1);
  expect(await world.db.$count(jobs, and(eq(jobs.kind, "sync.start"), isNotNull(jobs.gateway_id)))).toBe(1);
});
