import { agents, jobs, sync_run_agents } from "@board/core/db/schema";
import { deliver } from "@board/core/deliver";
import type { Gateways } from "@board/core/gateway/client";
import { POLICIES, queueOf } from "@board/core/job/kinds";
import { relay } from "@board/core/job/job";
import { createOutbox } from "@board/core/outbox";
import { scheduled } from "@board/core/schedule";
import type { LIMITS } from "@board/core/template/in-time";
import { syncTemplates } from "@board/core/template/sync";
import { SyncQuery } from "@board/core/template/sync-result";
import { and, eq, inArray } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { DialectName } from "../packages/local/src/fake-gateway/dialect.ts";
import { ownerContext, rowsOf, runsOf, setStage, type SyncStage } from "./support/sync.ts";
import { createWorld, type World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.db.delete(jobs);
});

async function start(dialect: DialectName = "2026.5.7"): Promise<SyncStage> {
  const stage = await setStage(world, dialect);
  onTestFinished(() => stage.fake.close());
  stage.fake.faults.patch_limit = null;
  return stage;
}
const ASYNC = { headers: { prefer: "respond-async" } };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const jobsOf = ({ home }: SyncStage, ...kinds: string[]) =>
  world.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.organization_id, home.organization_id), kinds.length ? inArray(jobs.kind, kinds) : undefined))
    .orderBy(jobs.seq);
const works = async (token: string) => (await world.call("GET", "/api/v1/agent/healthz", { agent: token })).status === 200;
/** Until the service has seen it: an attempt that begins with an open connection would wait for a restart. */
async function stop(fake: SyncStage["fake"]): Promise<void> {
  await fake.stop();
  await pause(100);
}
/** Delivers what is due now and of these kinds, once. */
async function deliverOnce(stage: SyncStage, ...kinds: string[]): Promise<number> {
  const due = (await jobsOf(stage, ...kinds)).filter(({ status, run_at }) => status === "queued" && run_at <= world.now());
  for (const { id } of due) await deliver(world.context(), id);
  return due.length;
}

/** A sync by the owner with limits of its own, and what it left to be relayed. */
async function syncWith(stage: SyncStage, limits: Partial<typeof LIMITS>, query: Record<string, string> = {}) {
  const ctx = await ownerContext(world, stage.home);
  const all = { first_contact_ms: 5_000, host_ms: 8_000, answer_ms: 10_000, ...limits };
  return { answer: await syncTemplates(ctx, stage.home.gateway_id, SyncQuery.parse(query), all), outbox: ctx.outbox };
}
async function handedOver(stage: SyncStage, limits: Partial<typeof LIMITS>, query?: Record<string, string>) {
  const { answer, outbox } = await syncWith(stage, limits, query);
  if (!("run_id" in answer)) throw new Error(`The sync is done: ${JSON.stringify(answer)}`);
  return { ...answer, outbox };
}

describe("a sync that is not waited for", () => {
  test("answers with its run at once, and ends as one that is", async () => {
    const stage = await start();
    const { home, lead, worker, main, sync, run, calls, written } = stage;
    const begun = await sync("rotate_tokens=true&reset_sessions=true", ASYNC);
    const { run_id } = begun.body;
    expect([begun.status, begun.headers.get("location"), begun.headers.get("preference-applied")]).toEqual([
      202,
      `/api/v1/gateways/${home.gateway_id}/templates/sync/${run_id}`,
      "respond-async",
    ]);
    expect(begun.body).toMatchObject({
      gateway_id: home.gateway_id,
      status: "running",
      cause: "request",
      finished_at: null,
      result: { synced_agents: [], total_synced: 0, reset_sessions: true },
    });
    expect([(await run(run_id)).body, written()]).toEqual([begun.body, []]);
    await world.drain();
    const { body } = await run(run_id);
    expect(body).toMatchObject({ run_id, status: "done", finished_at: expect.any(String) });
    expect(body.result).toMatchObject({ errors: [], total_synced: 3, agents_updated: 2, main_updated: true, files_written: 17 });
    expect(body.result.synced_agents.map(({ agent_id }: { agent_id: string }) => agent_id)).toEqual([
      lead.id,
      worker.id,
      main.id,
    ]);
    expect([calls("config.patch").length, calls("sessions.reset").length, calls("chat.send").length]).toEqual([1, 3, 0]);
    expect(calls("config.patch")[0]!.at).toBeLessThanOrEqual(calls("sessions.reset")[0]!.at);
    for (const agent of [lead, worker, main])
      expect([await works(agent.token), await works(stage.tokenOnHost(agent)!)]).toEqual([false, true]);
  });

  test.each(["respond-async, wait=10", "return=minimal,  Respond-Async;x=1"])("is preferred in any form: %s", async (prefer) => {
    const { sync } = await start();
    expect((await sync("", { headers: { prefer } })).status).toBe(202);
  });

  test.each(["respond-asynchronously", "wait=5"])("and by nothing else: %s", async (prefer) => {
    const { sync } = await start();
    expect((await sync("", { headers: { prefer } })).status).toBe(200);
  });

  test("is a message per agent, in the agents' own lanes, on a queue of its own", async () => {
    const stage = await start();
    await stage.sync("", ASYNC);
    const sent: { queue: string; delay_seconds: number }[] = [];
    const send = async (wakeUps: { queue: string; delay_seconds: number }[]) => {
      sent.push(...wakeUps);
      return { failed: [] };
    };
    await relay(world.context(), send);
    const [begin] = await jobsOf(stage, "sync.start");
    const ctx = world.context();
    await deliver(ctx, begin!.id);
    await relay(ctx, send, ctx.outbox);
    expect(sent).toMatchObject(Array(4).fill({ queue: "syncs", delay_seconds: 0 }));
    const made = await jobsOf(stage, "sync.agent");
    expect(
      made.map(({ lane, payload, secret_sealed }) => [lane, Object.keys(payload as object).toSorted(), secret_sealed]),
    ).toEqual(
      [stage.lead, stage.worker, stage.main].map(({ entry_id }) => [
        `${stage.home.gateway_id}/${entry_id}`,
        ["first", "run_agent_id", "run_id"],
        null,
      ]),
    );
    expect([queueOf("notice"), queueOf("agent.provision")]).toEqual(["deliveries", "deliveries"]);
  });

  test("tells of a host that is away, or of a board of others, and is done", async () => {
    const stage = await start();
    const { sync, run, fake } = stage;
    const { run_id } = (await sync(`board_id=${crypto.randomUUID()}`, ASYNC)).body;
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({
      status: "done",
      result: { total_errors: 1, errors: [{ error: "Board does not belong to this gateway.", agent_id: null }] },
    });
    fake.fail("health", { message: "missing scope: operator.read" });
    const second = (await sync("", ASYNC)).body.run_id;
    await world.drain();
    expect((await run(second)).body).toMatchObject({ status: "done", result: { total_errors: 1, total_synced: 0 } });
    expect(await jobsOf(stage, "sync.agent")).toEqual([]);
  });

  test("has nothing to do without agents", async () => {
    const { addBoard, sync, run } = await start();
    const { run_id } = (await sync(`include_main=false&board_id=${await addBoard("Empty")}`, ASYNC)).body;
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 0 } });
  });

  test("makes the main agent's entry also when it is not synced, and tells why it cannot", async () => {
    const { sync, run, fake, main, remove } = await start();
    remove(main);
    fake.fail("agents.create", { message: "no more agents" });
    const { run_id } = (await sync("include_main=false", ASYNC)).body;
    await world.drain();
    expect((await run(run_id)).body.result.errors).toMatchObject([
      { agent_id: main.id, board_id: null, error: "no more agents" },
    ]);
  });

  test("is nobody else's to look at", async () => {
    const stage = await start();
    const stranger = await start();
    const { run_id } = (await stage.sync("", ASYNC)).body;
    expect((await stranger.run(run_id)).status).toBe(404);
    expect((await stage.run(crypto.randomUUID())).status).toBe(404);
    const path = `/api/v1/gateways/${stage.home.gateway_id}/templates/sync/${run_id}`;
    expect((await world.call("GET", path, { token: stranger.home.owner.token })).status).toBe(404);
  });
});

describe("an agent of a run", () => {
  const begin = async (stage: SyncStage, query = "") => {
    const { run_id } = (await stage.sync(query, ASYNC)).body;
    await deliverOnce(stage, "sync.start");
    return run_id as string;
  };

  test("fails for itself, with the same texts", async () => {
    const stage = await start();
    stage.remove(stage.worker);
    const run_id = await begin(stage);
    stage.fake.fail("agents.files.set", { message: "disk full" });
    await deliver(world.context(), (await jobsOf(stage, "sync.agent"))[0]!.id);
    await world.drain();
    const { status, result } = (await stage.run(run_id)).body;
    expect([status, result.total_synced, result.agents_skipped]).toEqual(["done", 1, 2]);
    expect(result.errors).toMatchObject([
      { agent_id: stage.lead.id, error: "disk full" },
      {
        agent_id: stage.worker.id,
        error: `unable to read AUTH_TOKEN from TOOLS.md (agent: ${stage.worker.name}, run with rotate_tokens=true)`,
      },
    ]);
  });

  test("that is removed meanwhile is an error, and the run ends", async () => {
    const stage = await start();
    const run_id = await begin(stage);
    await world.db.delete(agents).where(eq(agents.id, stage.worker.id));
    await world.drain();
    const { status, result } = (await stage.run(run_id)).body;
    expect([status, result.total_synced, result.errors]).toMatchObject([
      "done",
      2,
      [{ agent_id: null, agent_name: stage.worker.name, error: "The agent was removed or moved in the meantime." }],
    ]);
  });

  test("whose host goes away is tried again later, with the same new token", async () => {
    const stage = await start();
    const { fake, worker, lead, tokenOnHost } = stage;
    const run_id = await begin(stage, `rotate_tokens=true&include_main=false`);
    fake.faults.lost_answers = { "agents.files.set": 1 };
    const [lead_job, worker_job] = await jobsOf(stage, "sync.agent");
    await stop(fake);
    await deliver(world.context(), lead_job!.id);
    await fake.start();
    const [failed] = await jobsOf(stage, "sync.agent");
    expect(failed).toMatchObject({ status: "queued", attempts: 1, last_error: expect.stringMatching(/^Gateway unreachable/) });
    await deliver(world.context(), worker_job!.id);
    const token = tokenOnHost(worker)!;
    // As after a crash that came before the end was written.
    await world.db
      .update(jobs)
      .set({ status: "queued", secret_sealed: worker_job!.secret_sealed })
      .where(eq(jobs.id, worker_job!.id));
    await world.db.update(sync_run_agents).set({ status: "waiting" }).where(eq(sync_run_agents.agent_id, worker.id));
    await deliver(world.context(), worker_job!.id);
    expect([tokenOnHost(worker), await works(token)]).toEqual([token, true]);
    world.elapse(10_000);
    await world.drain();
    const { status, result } = (await stage.run(run_id)).body;
    expect([status, result.errors, result.total_synced, await works(tokenOnHost(lead)!)]).toEqual(["done", [], 2, true]);
  });

  test("whose last attempt finds the host away stops the run: what is left was not processed", async () => {
    const stage = await start();
    const { fake, lead, worker, main, home } = stage;
    const run_id = await begin(stage);
    await stop(fake);
    for (let attempt = 1; attempt <= POLICIES["sync.agent"].attempts; attempt++) {
      expect((await stage.run(run_id)).body.status).toBe("running");
      await deliver(world.context(), (await jobsOf(stage, "sync.agent"))[0]!.id);
      world.elapse(70_000);
    }
    const { status, result } = (await stage.run(run_id)).body;
    expect([status, result.errors]).toMatchObject([
      "done",
      [
        { agent_id: lead.id, board_id: home.board_id, error: expect.stringMatching(/^Gateway unreachable .*ECONNREFUSED/) },
        { agent_id: worker.id, error: "not processed: gateway unreachable" },
        { agent_id: main.id, error: "not processed: gateway unreachable" },
      ],
    ]);
    await fake.start();
    await world.drain();
    expect([stage.written(), (await jobsOf(stage, "sync.finish")).length]).toEqual([[], 0]);
    expect((await stage.run(run_id)).body).toMatchObject({ status, result });
  });

  test("is settled once, however often its job runs", async () => {
    const stage = await start();
    const run_id = await begin(stage);
    const list = await jobsOf(stage, "sync.agent");
    await world.drain();
    const before = (await stage.run(run_id)).body;
    await world.db
      .update(jobs)
      .set({ status: "queued" })
      .where(
        inArray(
          jobs.id,
          list.map(({ id }) => id),
        ),
      );
    stage.fake.calls.length = 0;
    await world.drain();
    expect([(await stage.run(run_id)).body, stage.fake.calls]).toEqual([before, []]);
    expect(await jobsOf(stage, "sync.finish")).toHaveLength(1);
  });
});

describe("the end of a run", () => {
  test("waits as long as the host asks for before it is configured again", async () => {
    const stage = await start("2026.2.26");
    const { fake, run, calls } = stage;
    fake.faults.patch_limit = 0;
    const { run_id, result, outbox } = await handedOver(stage, {}, { reset_sessions: "true" });
    expect([result.total_synced, result.errors, outbox.lanes.has(stage.home.gateway_id)]).toEqual([3, [], true]);
    const [job] = await jobsOf(stage, "sync.finish");
    expect(job!.run_at.getTime() - world.now().getTime()).toBeGreaterThan(50_000);
    await world.drain();
    expect([(await run(run_id)).body.status, calls("sessions.reset")]).toEqual(["running", []]);
    world.elapse(61_000);
    await world.drain();
    expect((await jobsOf(stage, "sync.finish"))[0]).toMatchObject({ status: "queued", attempts: 1 });
    fake.faults.patch_limit = null;
    world.elapse(61_000);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
    expect(calls("sessions.reset")).toHaveLength(3);
  });

  test("that never comes about is an error of the run, its agents stay synced", async () => {
    const stage = await start("2026.2.26");
    stage.fake.faults.patch_limit = 0;
    const { run_id } = await handedOver(stage, {}, { reset_sessions: "true" });
    for (let attempt = 1; attempt <= POLICIES["sync.finish"].attempts; attempt++) {
      world.elapse(61_000);
      await world.drain();
    }
    const { status, result } = (await stage.run(run_id)).body;
    expect([status, result.total_synced, result.errors.map(({ error }: { error: string }) => error)]).toEqual([
      "done",
      3,
      [expect.stringContaining("rate limit exceeded"), ...Array(3).fill("not processed: gateway unreachable")],
    ]);
  });
});

describe("a request that cannot wait any longer", () => {
  test("leaves what is not done to the queue, and nothing is done twice or lost", async () => {
    const stage = await start();
    const { fake, lead, run, tokenOnHost, calls } = stage;
    fake.faults.delays_ms = { "agents.files.set": 400 };
    const query = { rotate_tokens: "true", include_main: "false", lead_only: "true" };
    const { run_id, result, status, outbox } = await handedOver(stage, { answer_ms: 1_000 }, query);
    expect([status, result.total_synced]).toEqual(["running", 0]);
    expect(outbox.lanes.size).toBeGreaterThan(0);
    const [job] = await jobsOf(stage, "sync.agent");
    expect(job).toMatchObject({ status: "running", attempts: 1 });
    expect(job!.lease_until!.getTime() - world.now().getTime()).toBeLessThanOrEqual(20_000);
    fake.faults.delays_ms = {};
    await pause(1_000);
    const token = tokenOnHost(lead);
    world.elapse(21_000);
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 1 } });
    expect([tokenOnHost(lead), await works(token!), await works(lead.token)]).toEqual([token, true, false]);
    expect(calls("config.patch")).toHaveLength(1);
  });

  test("leaves agents that others are at to the queue", async () => {
    const stage = await start();
    const { worker, home, run } = stage;
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
    const { run_id, result, outbox } = await handedOver(stage, { answer_ms: 1_000 });
    expect([result.total_synced, outbox.lanes.has(lane)]).toEqual([2, true]);
    await world.db.update(jobs).set({ status: "done" }).where(eq(jobs.id, other!.id));
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
  });

  test("answers in full when others have done in time what it could not", async () => {
    const stage = await start();
    const { worker, home } = stage;
    const lane = `${home.gateway_id}/${worker.entry_id}`;
    const values = { kind: "notice", lane, payload: {}, run_at: world.now(), max_attempts: 1, status: "running" as const };
    const lease_until = new Date(world.now().getTime() + 60_000);
    const [other] = await world.db
      .insert(jobs)
      .values({ ...values, lease_until })
      .returning();
    const syncing = syncWith(stage, {});
    const waiting = async () => (await jobsOf(stage, "sync.agent")).find((job) => job.lane === lane);
    while (!(await waiting())) await pause(20);
    await world.db.update(jobs).set({ status: "done" }).where(eq(jobs.id, other!.id));
    const { answer } = await syncing;
    expect(answer).toMatchObject({ errors: [], total_synced: 3 });
  });

  test("and one that dies is carried on by consumers", async () => {
    const stage = await start();
    const { home, lead, worker, main, tokenOnHost, run } = stage;
    const ctx = await ownerContext(world, home);
    const request: Gateways["request"] = async (target, method, params, options) => {
      if (method === "agents.files.set" && (params as { name: string }).name === "SOUL.md") throw new Error("killed");
      return ctx.gateways.request(target, method, params, options);
    };
    const dying = { ...ctx, gateways: { ...ctx.gateways, request } };
    const syncing = syncTemplates(dying, home.gateway_id, SyncQuery.parse({ rotate_tokens: "true" }));
    await expect(syncing).rejects.toThrow("killed");
    while ([lead, worker, main].some((agent) => tokenOnHost(agent) === agent.token)) await pause(20);
    const tokens = [lead, worker, main].map((agent) => tokenOnHost(agent)!);
    const run_id = (await runsOf(world, home.gateway_id))[0]!.id;
    expect((await run(run_id)).body).toMatchObject({ status: "running" });
    expect(await world.drain()).toBe(0);
    world.elapse(61_000);
    await scheduled.relay(world.context());
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 3 } });
    // The tokens were made when the run began, so that whoever carries it on writes the same.
    expect([lead, worker, main].map((agent) => tokenOnHost(agent))).toEqual(tokens);
    expect(await Promise.all(tokens.map(works))).toEqual([true, true, true]);
  });
});

test("what waits in the lanes of a sync is relayed when it ends, and nothing is when nothing waits", async () => {
  const stage = await start();
  const { fake, home, lead } = stage;
  expect((await syncWith(stage, {})).outbox).toEqual(createOutbox());
  fake.faults.delays_ms = { "agents.files.set": 150 };
  const syncing = syncWith(stage, {});
  while (!fake.calls.some(({ method }) => method === "agents.files.set")) await pause(5);
  const body = { content: "@lead look at this", tags: ["chat"] };
  await world.call("POST", `/api/v1/boards/${home.board_id}/memory`, { token: home.owner.token, body });
  expect((await syncing).outbox.lanes).toEqual(new Set([`${home.gateway_id}/${lead.entry_id}`]));
});

test("runs are kept for a week", async () => {
  const { home, sync, run } = await start();
  const { run_id } = (await sync("", ASYNC)).body;
  await world.drain();
  expect((await rowsOf(world, run_id)).map(({ position }) => position)).toEqual([0, 1, 2]);
  world.elapse(6 * 86_400_000);
  await scheduled.retention(world.context());
  expect((await run(run_id)).status).toBe(200);
  world.elapse(2 * 86_400_000);
  await scheduled.retention(world.context());
  expect([(await runsOf(world, home.gateway_id)).length, (await rowsOf(world, run_id)).length]).toEqual([0, 0]);
});
