/** Tests that consumers continue the part of a sync that a request has not done when it must respond. */
import { setTimeout as pause } from "node:timers/promises";
import { jobs } from "@board/core/schema/all-tables";
import { acquireConfigLock } from "@board/openclaw/host/config-lock";
import type { Gateways } from "@board/core/context/gateways";
import { RETRY_POLICIES } from "@board/core/job/kinds";
import { createPendingWakeups } from "@board/core/context/pending-wakeups";
import { scheduled } from "@board/api/work/schedules";
import type { LIMITS } from "@board/openclaw/sync/inline";
import { syncTemplates } from "@board/openclaw/sync/sync";
import { SyncQuery } from "@board/openclaw/sync/result";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { isAccepted } from "../support/http.ts";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { jobsOf, ownerContext, listRuns, startSyncFixture, type SyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

beforeEach(async () => {
  await world.db.delete(jobs);
});

const start = (dialect?: DialectName) => startSyncFixture(world, dialect);

/** Syncs as the owner with these limits, and returns the wake-ups that remain to be relayed. */
async function syncWith(fixture: SyncFixture, limits: Partial<typeof LIMITS>, query: Record<string, string> = {}) {
  const ctx = await ownerContext(world, fixture.home);
  const all = { connect_ms: 5_000, host_ms: 8_000, answer_ms: 10_000, ...limits };
  return { answer: await syncTemplates(ctx, fixture.home.gateway_id, SyncQuery.parse(query), all), outbox: ctx.pendingWakeups };
}
async function syncWithLimits(fixture: SyncFixture, limits: Partial<typeof LIMITS>, query?: Record<string, string>) {
  const { answer, outbox } = await syncWith(fixture, limits, query);
  if (!("run_id" in answer)) throw new Error(`The sync is done: ${JSON.stringify(answer)}`);
  return { ...answer, outbox };
}

describe("the configuration step at the end of a run", () => {
  test("the configuration waits for the delay that the host requests", async () => {
    const fixture = await start("2026.2.26");
    const { fake, run, calls } = fixture;
    fake.faults.patch_limit = 0;
    const { run_id, result, outbox } = await syncWithLimits(fixture, {}, { reset_sessions: "true" });
    expect([result.total_synced, result.errors, outbox.lanes.has(fixture.home.gateway_id)]).toEqual([3, [], true]);
    const [job] = await jobsOf(world, fixture, "sync.finish");
    expect(job!.run_at.getTime() - world.now().getTime()).toBeGreaterThan(50_000);
    await world.drain();
    expect([(await run(run_id)).body.status, calls("sessions.reset")]).toEqual(["running", []]);
    world.elapse(61_000);
    await world.drain();
    expect((await jobsOf(world, fixture, "sync.finish"))[0]).toMatchObject({ status: "queued", attempts: 1 });
    fake.faults.patch_limit = null;
    world.elapse(61_000);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
    expect(calls("sessions.reset")).toHaveLength(3);
  });

  test("a configuration write that never succeeds is an error of the run, and its agents stay synced", async () => {
    const fixture = await start("2026.2.26");
    fixture.fake.faults.patch_limit = 0;
    const { run_id } = await syncWithLimits(fixture, {}, { reset_sessions: "true" });
    for (let attempt = 1; attempt <= RETRY_POLICIES["sync.finish"].attempts; attempt++) {
      world.elapse(61_000);
      await world.drain();
    }
    const { status, result } = (await fixture.run(run_id)).body;
    expect([status, result.total_synced, result.errors.map(({ error }: { error: string }) => error)]).toEqual([
      "done",
      3,
      [expect.stringContaining("rate limit exceeded"), ...Array(3).fill("not processed: gateway unreachable")],
    ]);
  });
});

describe("a request that reaches its time limit", () => {
  test("at its time limit a request leaves the remaining agents to the queue, and no work is done twice or lost", async () => {
    const fixture = await start();
    const { fake, lead, run, tokenOnHost, calls } = fixture;
    fake.faults.delays_ms = { "agents.files.set": 400 };
    const query = { rotate_tokens: "true", include_main: "false", lead_only: "true" };
    const { run_id, result, status, outbox } = await syncWithLimits(fixture, { answer_ms: 1_000 }, query);
    expect([status, result.total_synced]).toEqual(["running", 0]);
    expect(outbox.lanes.size).toBeGreaterThan(0);
    const [job] = await jobsOf(world, fixture, "sync.agent");
    expect(job).toMatchObject({ status: "running", attempts: 1 });
    expect(job!.lease_until!.getTime() - world.now().getTime()).toBeLessThanOrEqual(20_000);
    fake.faults.delays_ms = {};
    await pause(1_000);
    const token = tokenOnHost(lead);
    world.elapse(21_000);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 1 } });
    expect([tokenOnHost(lead), await isAccepted(world, token!), await isAccepted(world, lead.token)]).toEqual([
      token,
      true,
      false,
    ]);
    expect(calls("config.patch")).toHaveLength(1);
  });

  test("agents that other workers are processing are left to the queue", async () => {
    const fixture = await start();
    const { worker, home, run } = fixture;
    const lane = `${home.gateway_id}/${worker.entry_id}`;
    const [other] = await world.db
      .insert(jobs)
      .values({
        kind: "notice",
        lane,
        organization_id: home.organization_id,
        payload: { gateway_id: home.gateway_id, session_key: worker.session_key, label: "x", message: "x", deliver: false },
        run_at: world.now(),
        max_attempts: 1,
        status: "running",
        lease_until: new Date(world.now().getTime() + 60_000),
      })
      .returning();
    const { run_id, result, outbox } = await syncWithLimits(fixture, { answer_ms: 1_000 });
    expect([result.total_synced, outbox.lanes.has(lane)]).toEqual([2, true]);
    await world.db.update(jobs).set({ status: "done" }).where(eq(jobs.id, other!.id));
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
  });

  test("agents that wait for other writers of the host's configuration are left to the queue, without an attempt", async () => {
    const fixture = await start();
    const { worker, home, run, remove, tokenOnHost } = fixture;
    remove(worker);
    const holder = await acquireConfigLock(world.context(), home.gateway_id, { wait_ms: 0 });
    const { run_id, result } = await syncWithLimits(fixture, { host_ms: 1_000 }, { rotate_tokens: "true" });
    expect([result.total_synced, result.errors]).toEqual([2, []]);
    const waiting = (await jobsOf(world, fixture, "sync.agent")).filter(({ status }) => status === "queued");
    expect(waiting).toMatchObject([{ lane: `${home.gateway_id}/${worker.entry_id}`, attempts: 0, last_error: null }]);
    await holder.release(0);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
    expect(await isAccepted(world, tokenOnHost(worker)!)).toBe(true);
  });

  test("jobs do the whole sync when others write to the host's configuration before its agents are known", async () => {
    const fixture = await start();
    const { main, home, run, remove, fake } = fixture;
    remove(main);
    const holder = await acquireConfigLock(world.context(), home.gateway_id, { wait_ms: 0 });
    const { run_id, result } = await syncWithLimits(fixture, { host_ms: 1_000 }, { include_main: "false" });
    expect([result.total_synced, result.errors]).toEqual([0, []]);
    await holder.release(0);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 2 } });
    expect(fake.host.files.has(main.workspace)).toBe(true);
  });

  test("the response of a sync is complete when other workers finish the remaining work in time", async () => {
    const fixture = await start();
    const { worker, home } = fixture;
    const lane = `${home.gateway_id}/${worker.entry_id}`;
    const values = { kind: "notice", lane, payload: {}, run_at: world.now(), max_attempts: 1, status: "running" as const };
    const lease_until = new Date(world.now().getTime() + 60_000);
    const [other] = await world.db
      .insert(jobs)
      .values({ ...values, lease_until })
      .returning();
    const syncing = syncWith(fixture, {});
    const waiting = async () => (await jobsOf(world, fixture, "sync.agent")).find((job) => job.lane === lane);
    while (!(await waiting())) await pause(20);
    await world.db.update(jobs).set({ status: "done" }).where(eq(jobs.id, other!.id));
    const { answer } = await syncing;
    expect(answer).toMatchObject({ errors: [], total_synced: 3 });
  });

  test("consumers continue a run whose request dies", async () => {
    const fixture = await start();
    const { home, lead, worker, main, tokenOnHost, run } = fixture;
    const ctx = await ownerContext(world, home);
    const request: Gateways["request"] = async (target, method, params, options) => {
      if (method === "agents.files.set" && (params as { name: string }).name === "SOUL.md") throw new Error("killed");
      return ctx.gateways.request(target, method, params, options);
    };
    const failing_ctx = { ...ctx, gateways: { ...ctx.gateways, request } };
    const syncing = syncTemplates(failing_ctx, home.gateway_id, SyncQuery.parse({ rotate_tokens: "true" }));
    await expect(syncing).rejects.toThrow("killed");
    while ([lead, worker, main].some((agent) => tokenOnHost(agent) === agent.token)) await pause(20);
    const tokens = [lead, worker, main].map((agent) => tokenOnHost(agent)!);
    const run_id = (await listRuns(world, home.gateway_id))[0]!.id;
    expect((await run(run_id)).body).toMatchObject({ status: "running" });
    expect(await world.drain()).toBe(0);
    world.elapse(61_000);
    await scheduled.relay(world.context());
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
    // The tokens were created with the run, so every worker that continues the run writes the same tokens.
    expect([lead, worker, main].map((agent) => tokenOnHost(agent))).toEqual(tokens);
    expect(await Promise.all(tokens.map((token) => isAccepted(world, token)))).toEqual([true, true, true]);
  });
});

test("the jobs that wait in the lanes of a sync are relayed when it ends, and none when no job waits", async () => {
  const fixture = await start();
  const { fake, home, lead } = fixture;
  expect((await syncWith(fixture, {})).outbox).toEqual(createPendingWakeups());
  fake.faults.delays_ms = { "agents.files.set": 150 };
  const syncing = syncWith(fixture, {});
  while (!fake.calls.some(({ method }) => method === "agents.files.set")) await pause(5);
  const body = { content: "@lead look at this", tags: ["chat"] };
  await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body });
  expect((await syncing).outbox.lanes).toEqual(new Set([`${home.gateway_id}/${lead.entry_id}`]));
});
