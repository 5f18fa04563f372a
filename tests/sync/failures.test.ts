import { agents, gateways, jobs } from "@board/core/schema/all-tables";
import { LIMITS } from "@board/openclaw/sync/inline";
import { syncTemplates } from "@board/openclaw/sync/sync";
import { SyncQuery, type TemplateSyncResult } from "@board/openclaw/sync/result";
import { and, eq, sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import type { DialectName } from "../support/fake-gateway/dialect.ts";
import { ownerContext, listRuns, startSyncFixture, type SyncAgent, type SyncFixture } from "../support/sync-fixture.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

const world = await setupWorld();

const start = (dialect?: DialectName, which = world) => startSyncFixture(which, dialect);
const entry = (agent: SyncAgent | null, board_id: string | null, error: string) => ({
  agent_id: agent?.id ?? null,
  agent_name: agent?.name ?? null,
  board_id,
  error,
  message: error,
});
const errorsOf = (body: TemplateSyncResult) => body.errors.map(({ error }) => error);
const ids = (body: TemplateSyncResult) => body.synced_agents.map(({ agent_id }) => agent_id);
const NOT_PROCESSED = "not processed: gateway unreachable";

/** Runs a sync as a request over HTTP does, but with a shorter time limit for retries. */
async function syncWithLimits({ home }: SyncFixture, query: Record<string, string> = {}, limits: Partial<typeof LIMITS> = {}) {
  const ctx = await ownerContext(world, home);
  const quick = { connect_ms: 1_500, host_ms: 3_000, answer_ms: 10_000, ...limits };
  const answer = await syncTemplates(ctx, home.gateway_id, SyncQuery.parse(query), quick);
  if ("run_id" in answer) throw new Error("The sync goes on");
  return answer;
}

describe("errors that stop a sync before its agents", () => {
  test("a host that does not answer the first request stops the sync", async () => {
    const fixture = await start();
    const { fake, home } = fixture;
    await fake.stop();
    const body = await syncWithLimits(fixture);
    expect(body).toMatchObject({
      synced_agents: [],
      errors: [
        entry(null, null, expect.stringMatching(/^Gateway unreachable for \d+ s during (connect|health)\. Last error: ./)),
      ],
      total_errors: 1,
      agents_skipped: 0,
    });
    expect(await listRuns(world, home.gateway_id)).toEqual([]);
    const gateway = (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, home.owner)).body;
    expect(gateway).toMatchObject({ connected: false, last_error: body.errors[0]!.error });
  });

  test("a host that never answers or refuses the credentials stops the sync", async () => {
    const fixture = await start();
    fixture.fake.faults.delays_ms = { health: Number.POSITIVE_INFINITY };
    expect(errorsOf(await syncWithLimits(fixture))).toEqual([expect.stringContaining("Gateway did not answer health within 1.")]);
    fixture.fake.faults.delays_ms = {};
    await world.db.update(gateways).set({ token_sealed: null }).where(eq(gateways.id, fixture.home.gateway_id));
    expect(errorsOf(await syncWithLimits(fixture))).toEqual([expect.stringContaining("authentication failed")]);
  });

  test("a gateway without an address stops the sync", async () => {
    const { home, sync, calls } = await start();
    await world.db.execute(sql`alter table gateways drop constraint gateways_not_blank`);
    await world.db.update(gateways).set({ url: " " }).where(eq(gateways.id, home.gateway_id));
    expect((await sync()).body.errors).toEqual([entry(null, null, "Gateway url is required")]);
    expect(calls("health")).toEqual([]);
  });
});

describe("the failure of one agent is an error entry, and the other agents are synced", () => {
  test("the failure of an agent's host entry affects only that agent", async () => {
    const { fake, home, lead, worker, main, sync, remove, written } = await start();
    remove(worker);
    fake.failNext("agents.create", { message: "workspace is not allowed" });
    const { status, body } = await sync("rotate_tokens=true");
    expect([status, body.errors]).toEqual([200, [entry(worker, home.board_id, "workspace is not allowed")]]);
    expect([ids(body), written(worker), body.agents_skipped]).toEqual([[lead.id, main.id], [], 1]);
  });

  test("a failure while an agent's files are written affects only that agent", async () => {
    const { fake, home, lead, worker, main, sync } = await start();
    fake.failNext("agents.files.list", { message: "EIO" });
    const { body } = await sync();
    expect([body.errors.length, body.total_synced]).toEqual([1, 2]);
    expect(body.errors[0]).toMatchObject({ error: "EIO" });
    expect([lead, worker, main].map(({ id }) => id).filter((id) => !ids(body).includes(id))).toEqual([body.errors[0].agent_id]);
    expect([home.board_id, null]).toContain(body.errors[0].board_id);
  });

  test("if a host is too old for a lead's own files, the lead has an error, and its other files are written", async () => {
    const old = await createWorld({ environment: { GATEWAY_MIN_VERSION: "2026.2.1" } } satisfies WorldOptions);
    onTestFinished(() => old.close());
    const { fake, home, lead, worker, main } = await start("2026.2.9", old);
    const { issuer } = old.identities;
    const environment = { GATEWAY_MIN_VERSION: "2026.5.1", OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` };
    const strict = await createWorld({ environment, database: databaseOf(old) });
    onTestFinished(() => strict.close());
    const path = `/api/v1/gateways/${home.gateway_id}/templates/sync`;
    const { status, body } = await strict.call("POST", path, { token: home.owner.token });
    expect(status).toBe(200);
    expect(body.errors).toEqual([entry(lead, home.board_id, "Gateway rejected required lead workspace files as unsupported")]);
    expect([ids(body), body.agents_skipped, body.warnings]).toEqual([[worker.id, main.id], 1, []]);
    expect(fake.host.files.get(lead.workspace)!.get("HEARTBEAT.md")?.content).toBeTruthy();
  });

  test("a failure of the session is an error, but the agent counts as synced", async () => {
    const { fake, sync } = await start();
    fake.failNext("sessions.reset", { message: "session is busy" });
    fake.failNext("sessions.reset", { message: "session not found" });
    const { body } = await sync("reset_sessions=true");
    expect([body.total_synced, errorsOf(body)]).toEqual([3, ["session is busy"]]);
    expect(body.errors[0].agent_id).not.toBeNull();
  });
});

describe("the host's configuration in a sync", () => {
  test("a refused configuration is not an error of any agent, and all agents stay synced", async () => {
    const { fake, lead, sync } = await start();
    fake.failNext("config.patch", { message: "disk full" });
    const { body } = await sync("reset_sessions=true");
    expect([body.total_synced, body.errors]).toEqual([3, [entry(null, null, "disk full")]]);
    expect(fake.host.sessions.has(lead.session_key)).toBe(true);
  });

  test("a setting that the host does not accept becomes a warning", async () => {
    const { fake, sync, calls } = await start();
    fake.faults.refused_config_keys = ["includeReasoning"];
    const { body } = await sync();
    expect([body.errors, calls("config.patch").length]).toEqual([[], 2]);
    expect(body.warnings).toContainEqual({
      agent_id: null,
      agent_name: null,
      message: expect.stringContaining("includeReasoning"),
    });
  });

  test("a configuration that somebody else changes during the sync is read again", async () => {
    const { fake, sync, calls } = await start();
    const stale = { message: "config changed since last load; re-run config.get and retry" };
    fake.failNext("config.patch", stale, 2);
    expect([(await sync()).body.errors, calls("config.patch").length]).toEqual([[], 3]);
  });
});

describe("a host that goes down during a sync", () => {
  test("when a host goes down while files are written, the current agent fails and the rest are not processed", async () => {
    const fixture = await start();
    const { fake, home, lead, worker, main } = fixture;
    fake.faults.delays_ms = { "agents.files.list": 300 };
    const syncing = syncWithLimits(fixture);
    while (!fake.calls.some(({ method }) => method === "agents.files.list")) await pause(5);
    await fake.stop();
    const body = await syncing;
    expect(body.errors).toEqual([
      entry(lead, home.board_id, expect.stringMatching(/^Gateway unreachable for \d s during .*\. Last error: /)),
      entry(worker, home.board_id, NOT_PROCESSED),
      entry(main, null, NOT_PROCESSED),
    ]);
    expect([body.total_synced, body.agents_skipped, body.main_updated]).toEqual([0, 2, false]);
    const [run] = await listRuns(world, home.gateway_id);
    expect(run).toMatchObject({ status: "done" });
    const isDue = and(eq(jobs.organization_id, home.organization_id), eq(jobs.status, "queued"));
    const due = await world.db.select().from(jobs).where(isDue);
    // People are notified that the gateway is down.
    expect(due.map(({ kind }) => kind)).toEqual(["people.tell"]);
  });

  test("when a host goes down while its configuration is written, the agents stay synced and their sessions are not reset", async () => {
    const fixture = await start();
    const { fake, home, lead } = fixture;
    fake.faults.delays_ms = { "config.get": 300 };
    const syncing = syncWithLimits(fixture, {
      reset_sessions: "true",
      board_id: home.board_id,
      lead_only: "true",
      include_main: "false",
    });
    while (!fake.calls.some(({ method }) => method === "config.get")) await pause(5);
    await fake.stop();
    const body = await syncing;
    expect([ids(body), body.errors]).toEqual([
      [lead.id],
      [
        entry(null, null, expect.stringMatching(/^Gateway unreachable .*config\.patch/)),
        entry(lead, home.board_id, NOT_PROCESSED),
      ],
    ]);
  });

  test("a host that comes back in time causes no error", async () => {
    const fixture = await start();
    const { fake } = fixture;
    fake.faults.delays_ms = { "agents.files.list": 200 };
    const syncing = syncWithLimits(fixture, {}, { host_ms: 8_000 });
    while (!fake.calls.some(({ method }) => method === "agents.files.list")) await pause(5);
    await fake.stop();
    await pause(500);
    await fake.start();
    expect(await syncing).toMatchObject({ errors: [], total_synced: 3 });
  });
});

describe("the state of an agent after a sync", () => {
  const stateOf = async (fixture: SyncFixture, agent: SyncAgent, values: Partial<typeof agents.$inferInsert>) => {
    await world.db.update(agents).set(values).where(eq(agents.id, agent.id));
    const before = await fixture.row(agent);
    await fixture.sync();
    return { before, after: await fixture.row(agent) };
  };

  test("an agent that was being provisioned is ready afterwards, and its error is cleared", async () => {
    const fixture = await start();
    const { after } = await stateOf(fixture, fixture.worker, { status: "provisioning", last_provision_error: "host away" });
    expect([after.status, after.last_provision_error]).toEqual(["ready", null]);
  });

  test.each(["online", "updating", "active", "ready", "offline"] as const)(
    "an agent that is %s keeps its status and its wake cycle",
    async (status) => {
      const fixture = await start();
      const wake = { wake_attempts: 2, last_wake_sent_at: world.now(), checkin_deadline_at: world.now() };
      const { before, after } = await stateOf(fixture, fixture.worker, { status, last_provision_error: "x", ...wake });
      const { updated_at, change_tx, change_seq } = after;
      expect(after).toEqual({ ...before, last_provision_error: null, updated_at, change_tx, change_seq });
    },
  );

  test("an agent that needs no repair is not changed, and a failed one keeps its state", async () => {
    const fixture = await start();
    const { before, after } = await stateOf(fixture, fixture.worker, { status: "ready" });
    expect(after).toEqual(before);
    fixture.remove(fixture.worker);
    const failed = await stateOf(fixture, fixture.worker, { status: "provisioning", last_provision_error: "host away" });
    expect(failed.after).toEqual(failed.before);
  });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const databaseOf = ({ db }: World) => ({ db, migrate: async () => {}, close: async () => {} });
