import { setTimeout as pause } from "node:timers/promises";
import { agents, jobs, sync_run_agents } from "@board/core/schema/all-tables";
import { deliver } from "@board/api/work/handlers";
import { relay } from "@board/core/job/relay";
import { type JobKind, RETRY_POLICIES, queueOf } from "@board/core/job/kinds";
import { scheduled } from "@board/api/work/schedules";
import { eq, inArray } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { agentsOf } from "../support/fake-gateway/config.ts";
import { isAccepted } from "../support/http.ts";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { jobsOf, listRunAgents, listRuns, startSyncFixture, type SyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

beforeEach(async () => {
  await world.db.delete(jobs);
});

const start = (dialect?: DialectName) => startSyncFixture(world, dialect);
const ASYNC = { headers: { prefer: "respond-async" } };
/** Stops the host and waits until the service has noticed, because an attempt on an open connection would wait for a restart. */
async function stop(fake: SyncFixture["fake"]): Promise<void> {
  await fake.stop();
  await pause(100);
}
/** Delivers the due jobs of these kinds once. */
async function deliverOnce(fixture: SyncFixture, ...kinds: JobKind[]): Promise<number> {
  const due = (await jobsOf(world, fixture, ...kinds)).filter(
    ({ status, run_at }) => status === "queued" && run_at <= world.now(),
  );
  for (const { id } of due) await deliver(world.context(), id);
  return due.length;
}

describe("an asynchronous sync", () => {
  test("an asynchronous sync answers with its run at once, and ends like a synchronous one", async () => {
    const fixture = await start();
    const { home, lead, worker, main, sync, run, calls, written } = fixture;
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
      expect([await isAccepted(world, agent.token), await isAccepted(world, fixture.tokenOnHost(agent)!)]).toEqual([false, true]);
  });

  test.each(["respond-async, wait=10", "return=minimal,  Respond-Async;x=1"])(
    "the preference respond-async is understood in any form: %s",
    async (prefer) => {
      const { sync } = await start();
      expect((await sync("", { headers: { prefer } })).status).toBe(202);
    },
  );

  test.each(["respond-asynchronously", "wait=5"])("the preference %s leaves the sync synchronous", async (prefer) => {
    const { sync } = await start();
    expect((await sync("", { headers: { prefer } })).status).toBe(200);
  });

  test("an asynchronous sync sends one message per agent, in the agents' own lanes, on a separate queue", async () => {
    const fixture = await start();
    await fixture.sync("", ASYNC);
    const sent: { queue: string; delay_seconds: number }[] = [];
    const send = async (wakeUps: { queue: string; delay_seconds: number }[]) => {
      sent.push(...wakeUps);
      return { failed: [] };
    };
    await relay(world.context(), send);
    const [begin] = await jobsOf(world, fixture, "sync.start");
    const ctx = world.context();
    await deliver(ctx, begin!.id);
    await relay(ctx, send, ctx.pendingWakeups);
    expect(sent).toMatchObject(Array(4).fill({ queue: "syncs", delay_seconds: 0 }));
    const made = await jobsOf(world, fixture, "sync.agent");
    expect(
      made.map(({ lane, payload, secret_sealed }) => [lane, Object.keys(payload as object).toSorted(), secret_sealed]),
    ).toEqual(
      [fixture.lead, fixture.worker, fixture.main].map(({ entry_id }) => [
        `${fixture.home.gateway_id}/${entry_id}`,
        ["first", "run_agent_id", "run_id"],
        null,
      ]),
    );
    expect([queueOf("notice"), queueOf("agent.provision")]).toEqual(["deliveries", "deliveries"]);
  });

  test("a host that refuses, or a board of another gateway, ends the run with an error", async () => {
    const fixture = await start();
    const { sync, run, fake } = fixture;
    const { run_id } = (await sync(`board_id=${crypto.randomUUID()}`, ASYNC)).body;
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({
      status: "done",
      result: { total_errors: 1, errors: [{ error: "Board does not belong to this gateway.", agent_id: null }] },
    });
    fake.failNext("health", { message: "missing scope: operator.read" });
    const second = (await sync("", ASYNC)).body.run_id;
    await world.drain();
    expect((await run(second)).body).toMatchObject({ status: "done", result: { total_errors: 1, total_synced: 0 } });
    expect(await jobsOf(world, fixture, "sync.agent")).toEqual([]);
  });

  test("an asynchronous sync without agents ends at once", async () => {
    const { addBoard, sync, run } = await start();
    const { run_id } = (await sync(`include_main=false&board_id=${await addBoard("Empty")}`, ASYNC)).body;
    await world.drain();
    expect((await run(run_id)).body).toMatchObject({ status: "done", result: { errors: [], total_synced: 0 } });
  });

  test("the main agent's entry is created even when the agent is not synced, and a failure is reported", async () => {
    const { sync, run, fake, main, remove, written } = await start();
    const syncOthers = async () => {
      const { run_id } = (await sync("include_main=false", ASYNC)).body;
      await world.drain();
      return (await run(run_id)).body.result;
    };
    const entries = () => agentsOf(fake.host.config.file(), fake.host.dialect);
    const entry = { id: main.entry_id, workspace: main.workspace };
    remove(main);
    fake.failNext("agents.create", { message: "no more agents" });
    expect((await syncOthers()).errors).toMatchObject([{ agent_id: main.id, board_id: null, error: "no more agents" }]);
    expect(entries()).not.toContainEqual(expect.objectContaining({ id: main.entry_id }));
    expect(await syncOthers()).toMatchObject({ errors: [], total_synced: 2, main_updated: false });
    expect(entries()).toContainEqual(expect.objectContaining(entry));
    expect(written(main)).toEqual([]);
  });
});

describe("an agent of a run", () => {
  const begin = async (fixture: SyncFixture, query = "") => {
    const { run_id } = (await fixture.sync(query, ASYNC)).body;
    await deliverOnce(fixture, "sync.start");
    return run_id as string;
  };

  test("agents fail independently, with the same error texts as in a synchronous sync", async () => {
    const fixture = await start();
    fixture.remove(fixture.worker);
    const run_id = await begin(fixture);
    fixture.fake.failNext("agents.files.set", { message: "disk full" });
    await deliver(world.context(), (await jobsOf(world, fixture, "sync.agent"))[0]!.id);
    await world.drain();
    const { status, result } = (await fixture.run(run_id)).body;
    expect([status, result.total_synced, result.agents_skipped]).toEqual(["done", 1, 2]);
    expect(result.errors).toMatchObject([
      { agent_id: fixture.lead.id, error: "disk full" },
      {
        agent_id: fixture.worker.id,
        error: `unable to read AUTH_TOKEN from TOOLS.md (agent: ${fixture.worker.name}, run with rotate_tokens=true)`,
      },
    ]);
  });

  test("an agent that is removed during the run is an error, and the run ends", async () => {
    const fixture = await start();
    const run_id = await begin(fixture);
    await world.db.delete(agents).where(eq(agents.id, fixture.worker.id));
    await world.drain();
    const { status, result } = (await fixture.run(run_id)).body;
    expect([status, result.total_synced, result.errors]).toMatchObject([
      "done",
      2,
      [{ agent_id: null, agent_name: fixture.worker.name, error: "The agent was removed or moved in the meantime." }],
    ]);
  });

  test("an agent whose host goes down is retried later with the same new token", async () => {
    const fixture = await start();
    const { fake, worker, lead, tokenOnHost } = fixture;
    const run_id = await begin(fixture, `rotate_tokens=true&include_main=false`);
    fake.faults.lost_responses = { "agents.files.set": 1 };
    const [lead_job, worker_job] = await jobsOf(world, fixture, "sync.agent");
    await stop(fake);
    await deliver(world.context(), lead_job!.id);
    await fake.start();
    const [failed] = await jobsOf(world, fixture, "sync.agent");
    expect(failed).toMatchObject({ status: "queued", attempts: 1, last_error: expect.stringMatching(/^Gateway unreachable/) });
    await deliver(world.context(), worker_job!.id);
    const token = tokenOnHost(worker)!;
    // The state after a crash that came before the result was recorded.
    await world.db
      .update(jobs)
      .set({ status: "queued", secret_sealed: worker_job!.secret_sealed })
      .where(eq(jobs.id, worker_job!.id));
    await world.db.update(sync_run_agents).set({ status: "waiting" }).where(eq(sync_run_agents.agent_id, worker.id));
    await deliver(world.context(), worker_job!.id);
    expect([tokenOnHost(worker), await isAccepted(world, token)]).toEqual([token, true]);
    world.elapse(10_000);
    await world.drain();
    const { status, result } = (await fixture.run(run_id)).body;
    expect([status, result.errors, result.total_synced, await isAccepted(world, tokenOnHost(lead)!)]).toEqual([
      "done",
      [],
      2,
      true,
    ]);
  });

  test("an agent whose last attempt finds the host down stops the run, and leaves the rest unprocessed", async () => {
    const fixture = await start();
    const { fake, lead, worker, main, home } = fixture;
    const run_id = await begin(fixture);
    await stop(fake);
    for (let attempt = 1; attempt <= RETRY_POLICIES["sync.agent"].attempts; attempt++) {
      expect((await fixture.run(run_id)).body.status).toBe("running");
      await deliver(world.context(), (await jobsOf(world, fixture, "sync.agent"))[0]!.id);
      world.elapse(70_000);
    }
    const { status, result } = (await fixture.run(run_id)).body;
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
    expect([fixture.written(), (await jobsOf(world, fixture, "sync.finish")).length]).toEqual([[], 0]);
    expect((await fixture.run(run_id)).body).toMatchObject({ status, result });
  });

  test("an agent of a sync run is finished once, even when its job runs several times", async () => {
    const fixture = await start();
    const run_id = await begin(fixture);
    const list = await jobsOf(world, fixture, "sync.agent");
    await world.drain();
    const before = (await fixture.run(run_id)).body;
    await world.db
      .update(jobs)
      .set({ status: "queued" })
      .where(
        inArray(
          jobs.id,
          list.map(({ id }) => id),
        ),
      );
    fixture.fake.calls.length = 0;
    await world.drain();
    expect([(await fixture.run(run_id)).body, fixture.fake.calls]).toEqual([before, []]);
    expect(await jobsOf(world, fixture, "sync.finish")).toHaveLength(1);
  });
});

test("runs of template syncs are kept for a week", async () => {
  const { home, sync, run } = await start();
  const { run_id } = (await sync("", ASYNC)).body;
  await world.drain();
  expect((await listRunAgents(world, run_id)).map(({ position }) => position)).toEqual([0, 1, 2]);
  world.elapse(6 * 86_400_000);
  await scheduled.retention(world.context());
  expect((await run(run_id)).status).toBe(200);
  world.elapse(2 * 86_400_000);
  await scheduled.retention(world.context());
  expect([(await listRuns(world, home.gateway_id)).length, (await listRunAgents(world, run_id)).length]).toEqual([0, 0]);
});
