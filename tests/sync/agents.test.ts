import { gateways } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { describe, expect, type TestContext, test } from "vitest";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { createSyncFixture, type SyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const world = await setupWorld();

/** Starts a tenant with a host. The clean-up is registered with the test's context, because the tests run concurrently. */
async function start(dialect: DialectName, { onTestFinished }: Pick<TestContext, "onTestFinished">): Promise<SyncFixture> {
  const fixture = await createSyncFixture(world, dialect);
  onTestFinished(() => fixture.fake.close());
  return fixture;
}

const LEAD = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "AGENTS.md", "ROLES.md"];
const UPDATED = { lead: LEAD, worker: LEAD.slice(0, 4), main: LEAD.slice(0, 3) };

describe.concurrent.each(Object.keys(dialects) as DialectName[])("the sync of all agents on a host of version %s", (dialect) => {
  const accepts = (name: string) => dialects[dialect].accepted_files.includes(name);

  test("one sync request writes the files of all agents over one socket, TOOLS.md first, with one config.patch, and keeps their tokens", async (own) => {
    const { fake, home, lead, worker, main, sync, calls, written, file, write, tokenOnHost } = await start(dialect, own);
    for (const agent of [lead, worker]) for (const name of ["USER.md", "MEMORY.md"]) write(agent, name, "The agent's own.");
    const { status, body } = await sync();
    expect(status).toBe(200);
    const refused = (names: string[]) => names.filter((name) => !accepts(name));
    const count = (names: string[]) => names.filter(accepts).length;
    // Files of a worker or a main agent that the host refuses are sections of AGENTS.md, which is therefore written too.
    const carriers = refused(UPDATED.worker).length > 0 ? 2 : 0;
    expect(body).toEqual({
      gateway_id: home.gateway_id,
      synced_agents: [lead, worker, main].map(({ id, name }) => ({ agent_id: id, name, status: "success" })),
      errors: [],
      total_synced: 3,
      total_errors: 0,
      agents_synced: 3,
      files_written: count(UPDATED.lead) + count(UPDATED.worker) + count(UPDATED.main) + carriers + 1,
      include_main: true,
      reset_sessions: false,
      agents_updated: 2,
      agents_skipped: 0,
      main_updated: true,
      warnings: [[lead, UPDATED.lead] as const, [worker, UPDATED.worker] as const, [main, UPDATED.main] as const].flatMap(
        ([agent, names]) =>
          refused(names).map((name) => ({
            agent_id: agent.id,
            agent_name: agent.name,
            message: `The host does not support ${name}; its content is in AGENTS.md.`,
          })),
      ),
    });
    for (const agent of [lead, worker, main]) {
      expect(written(agent)[0]).toBe("TOOLS.md");
      expect(tokenOnHost(agent)).toBe(agent.token);
    }
    expect(file(lead, "AGENTS.md")).toContain(accepts("ROLES.md") ? "" : "<!-- file: ROLES.md -->");
    for (const agent of [lead, worker])
      for (const name of ["USER.md", "MEMORY.md"]) expect(file(agent, name)).toBe("The agent's own.");
    expect(written().filter((name) => /BOOTSTRAP|USER|MEMORY|LEARNINGS/.test(name))).toEqual([`${main.entry_id}/USER.md`]);
    expect([calls("config.patch").length, calls("sessions.reset").length, calls("chat.send").length]).toEqual([1, 0, 0]);
    expect(new Set(fake.calls.map(({ connection }) => connection)).size).toBe(1);
    fake.calls.length = 0;
    expect((await sync()).body.total_synced).toBe(3);
    expect([calls("config.patch"), calls("agents.create"), calls("agents.update")]).toEqual([[], [], []]);
  });

  test("rotated tokens replace the old ones, even for agents missing on the host, which get every file", async (own) => {
    const { fake, lead, worker, main, sync, calls, written, tokenOnHost, remove } = await start(dialect, own);
    fake.faults.patch_limit = null;
    remove(worker);
    const { body } = await sync("rotate_tokens=true");
    expect([body.errors, body.total_synced]).toEqual([[], 3]);
    for (const agent of [lead, worker, main]) {
      const token = tokenOnHost(agent)!;
      expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(token).not.toBe(agent.token);
      expect((await world.call("GET", "/api/v1/agent/healthz", { agent: agent.token })).status).toBe(401);
      expect((await world.call("GET", "/api/v1/agent/healthz", { agent: token })).body.agent_id).toBe(agent.id);
    }
    expect(calls("agents.create").map(({ params }) => params)).toEqual([{ name: worker.entry_id, workspace: worker.workspace }]);
    const all = ["TOOLS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"];
    expect(new Set(written(worker))).toEqual(new Set([...all, ...(all.every(accepts) ? [] : ["AGENTS.md"])]));
    expect(written(lead)).not.toContain("BOOTSTRAP.md");
    expect(calls("config.patch")).toHaveLength(1);
    expect(new Set(fake.calls.map(({ connection }) => connection)).size).toBe(1);
    expect((await sync()).body.total_synced).toBe(3);
  });

  test("the sync survives restarts, lost responses and cut sockets", async (own) => {
    const { fake, lead, worker, main, sync, tokenOnHost, remove, calls } = await start(dialect, own);
    fake.faults.patch_limit = null;
    fake.faults.restart_after_writes = true;
    remove(worker);
    fake.faults.dropped_connections = {
      health: 1,
      "agents.files.set": 2,
      "agents.files.list": 1,
      "config.patch": 1,
      "sessions.reset": 1,
    };
    fake.faults.lost_responses = { "agents.list": 1, "agents.files.set": 1, "agents.create": 1, "config.patch": 1 };
    const { status, body } = await sync("rotate_tokens=true&reset_sessions=true");
    expect([status, body.errors, body.total_synced]).toEqual([200, [], 3]);
    for (const agent of [lead, worker, main]) {
      const answer = await world.call("GET", "/api/v1/agent/healthz", { agent: tokenOnHost(agent)! });
      expect(answer.body.agent_id).toBe(agent.id);
      expect(fake.host.sessions.has(agent.session_key)).toBe(true);
    }
    expect(calls("config.patch").length).toBeGreaterThanOrEqual(2);
  });
});

test("a sync updates the state of its gateway", async (own) => {
  const { fake, home, sync } = await start("2026.5.7", own);
  const set = { version: null, connected: false, last_error: "gone" };
  await world.db.update(gateways).set(set).where(eq(gateways.id, home.gateway_id));
  await sync();
  const gateway = async () => (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, home.owner)).body;
  expect(await gateway()).toMatchObject({ version: "2026.5.7", connected: true, last_error: null });
  fake.failNext("health", { message: "missing scope: operator.read" });
  expect((await sync()).body.errors).toMatchObject([
    { error: expect.stringContaining("missing required scope `operator.read`") },
  ]);
  expect(await gateway()).toMatchObject({ connected: true });
});

test("a sync of many agents takes no more database statements than one of few", async (own) => {
  const few = await start("2026.9.6", own);
  const many = await start("2026.9.6", own);
  for (let n = 1; n <= 4; n++) await many.addAgent(many.home.board_id, `Agent ${n}`);
  const cost = async ({ sync }: SyncFixture) => {
    world.statements.length = 0;
    expect((await sync()).body.errors).toEqual([]);
    return world.statements.length;
  };
  expect(await cost(many)).toBe(await cost(few));
});
