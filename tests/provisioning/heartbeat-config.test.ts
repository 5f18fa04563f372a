import { agents, gateways, jobs } from "@board/core/schema/all-tables";
import { acquireConfigLock } from "@board/openclaw/host/config-lock";
import { desc, eq } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { addGroup } from "../support/group.ts";
import type { Tenant } from "../support/world.ts";

const STALE = { message: "config changed since last load; re-run config.get and retry" };

const world = await setupWorld();

interface Entry {
  id?: string;
  name?: string;
  workspace?: string;
  heartbeat?: Record<string, unknown>;
}

/** Returns the configuration file of the host, with its agents. */
const configOf = (host: FakeGateway) =>
  host.host.config.file() as unknown as { agents: { list?: Entry[]; entries?: Record<string, Entry> } };

describe.each(Object.keys(dialects) as DialectName[])("heartbeat settings on a host of version %s", (dialect) => {
  let host: FakeGateway;
  let home: Tenant;
  let group_id: string;
  let worker: string;
  let lead: string;

  let tenants = 0;
  afterEach(() => host.close());
  beforeEach(async () => {
    host = await startFakeGateway({
      token: "test-token-123",
      dialect,
      timings: { restart_delay: 50, downtime: 50, starting: 20, stale: 0 },
    });
    home = await world.tenant(`${dialect} ${++tenants}`, host.url);
    group_id = await addGroup(world, home, "Group", [home.board_id]);
    worker = home.worker.session_key.split(":")[1]!;
    lead = home.lead.session_key.split(":")[1]!;
    // The host must know only the agents that this set-up adds.
    await world.db.delete(jobs);
    host.faults.patch_limit = null;
    const target = { url: host.url, token: "test-token-123", disable_device_pairing: false, allow_insecure_tls: false };
    // The host knows the worker, but the lead's entry is missing.
    await world.context().gateways.request(target, "agents.create", { name: worker, workspace: "/elsewhere" });
    host.calls.length = 0;
    world.log.length = 0;
  });

  const setHeartbeat = async (every: string) => {
    const body = { every, include_board_leads: true };
    const answer = await world.call("POST", `/api/v1/board-groups/${group_id}/heartbeat`, { token: home.owner.token, body });
    expect(answer.status).toBe(200);
    await world.drain();
  };
  const job = async () =>
    (await world.db.select().from(jobs).where(eq(jobs.kind, "config.heartbeat")).orderBy(desc(jobs.seq)).limit(1))[0]!;
  const callsOf = (method: string) =>
    host.calls.filter((call) => call.method === method).map(({ params }) => params as { raw: string; baseHash?: string });
  const patches = () => callsOf("config.patch");
  /** Returns the host's entries by id, as its configuration file has them. */
  const entries = (): Record<string, Entry> => {
    const { agents: held } = configOf(host);
    return held.entries ?? Object.fromEntries((held.list ?? []).map(({ id, ...entry }) => [id!, entry]));
  };
  const unknown = dialects[dialect].refused_heartbeat_keys;
  const heartbeat = (every: string) => ({
    every,
    target: dialects[dialect].routes_heartbeats ? "none" : "last",
    ...(unknown.includes("includeReasoning") ? {} : { includeReasoning: false }),
  });
  const settings = (id: string, every: string) => ({ workspace: `/srv/agents/workspace-${id}`, heartbeat: heartbeat(every) });

  test("one config.patch writes the settings of all agents and changes nothing else", async () => {
    const before = entries();
    await setHeartbeat("15m");
    expect(await job()).toMatchObject({ status: "done", attempts: 1 });
    expect(patches()).toEqual([{ raw: expect.any(String), baseHash: expect.any(String) }]);
    const after = entries();
    expect(after).toEqual({
      ...before,
      [worker]: { ...before[worker], ...settings(worker, "15m") },
      [lead]: settings(lead, "15m"),
    });
    const layouts = {
      list: { list: Object.entries(after).map(([id, entry]) => ({ id, ...entry })) },
      entries: { entries: { [worker]: settings(worker, "15m"), [lead]: settings(lead, "15m") } },
    };
    expect(JSON.parse(patches()[0]!.raw)).toEqual({ agents: layouts[dialects[dialect].agents] });
  });

  test("nothing is sent when the host has the settings already", async () => {
    await setHeartbeat("15m");
    await setHeartbeat("15m");
    expect([patches().length, callsOf("config.get").length, (await job()).status]).toEqual([1, 2, "done"]);
  });

  test("the heartbeat settings are written within one attempt even if the host restarts, before or after its answer", async () => {
    host.faults.restart_after_writes = true;
    await setHeartbeat("16m");
    host.faults.lost_responses["config.patch"] = 1;
    await setHeartbeat("17m");
    expect(await job()).toMatchObject({ status: "done", attempts: 1 });
    expect([patches().length, entries()[worker]?.heartbeat]).toEqual([2, heartbeat("17m")]);
  });

  test("a configuration write whose connection was lost too early is repeated", async () => {
    host.faults.dropped_connections["config.patch"] = 1;
    await setHeartbeat("18m");
    expect(await job()).toMatchObject({ status: "done", attempts: 1 });
    expect([patches().length, entries()[worker]?.heartbeat]).toEqual([2, heartbeat("18m")]);
  });

  test("a configuration that others change during the job is read again, up to three times in all", async () => {
    host.failNext("config.patch", STALE, 2);
    await setHeartbeat("19m");
    expect([patches().length, callsOf("config.get").length, (await job()).status]).toEqual([3, 3, "done"]);
    host.failNext("config.patch", STALE, 3);
    await setHeartbeat("20m");
    expect([patches().length, await job()]).toMatchObject([6, { status: "queued", last_error: STALE.message }]);
    world.elapse(11_000);
    await world.drain();
    expect([entries()[worker]?.heartbeat, (await job()).status]).toEqual([heartbeat("20m"), "done"]);
  });

  test("if the host requests a short delay, the attempt waits, and if it requests a long delay, the job is retried later", async () => {
    host.failNext("config.patch", { code: "UNAVAILABLE", message: "busy", retryable: true, retryAfterMs: 900 });
    await setHeartbeat("21m");
    const [refused, taken] = host.calls.filter(({ method }) => method === "config.patch");
    expect(taken!.at - refused!.at).toBeGreaterThanOrEqual(850);
    host.faults.patch_limit = 0;
    const asked_at = world.now().getTime();
    await setHeartbeat("22m");
    const waiting = await job();
    expect(waiting).toMatchObject({ status: "queued", attempts: 1, last_error: expect.stringContaining("rate limit exceeded") });
    expect(waiting.run_at.getTime() - asked_at).toBeGreaterThanOrEqual(59_000);
    expect(patches()).toHaveLength(3);
    host.faults.patch_limit = null;
    world.elapse(61_000);
    await world.drain();
    expect([entries()[worker]?.heartbeat, (await job()).status]).toEqual([heartbeat("22m"), "done"]);
  });

  test("the job that writes heartbeat settings waits for other writers of the configuration", async () => {
    const holder = await acquireConfigLock(world.context(), home.gateway_id, { wait_ms: 5_000 });
    const waiting = setHeartbeat("26m");
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect([patches(), callsOf("config.get")]).toEqual([[], []]);
    await holder.release(0);
    await waiting;
    expect([patches().length, (await job()).status, entries()[worker]?.heartbeat]).toEqual([1, "done", heartbeat("26m")]);
  });

  test("waiting for other writers until the time limit does not count as an attempt of the job", async () => {
    const holder = await acquireConfigLock(world.context(), home.gateway_id, { wait_ms: 5_000 });
    await setHeartbeat("27m");
    expect(await job()).toMatchObject({ status: "queued", attempts: 0, last_error: null });
    expect([patches(), callsOf("config.get")]).toEqual([[], []]);
    await holder.release(0);
    world.elapse(2_000);
    await world.drain();
    expect([patches().length, (await job()).status, entries()[worker]?.heartbeat]).toEqual([1, "done", heartbeat("27m")]);
  });

  test("a configuration key that the host refuses is left out and logged, but only once per attempt", async () => {
    host.faults.refused_config_keys = ["target"];
    await setHeartbeat("23m");
    expect([patches().length, (await job()).status]).toEqual([2, "done"]);
    const { target: _target, ...kept } = heartbeat("23m");
    expect(entries()[worker]?.heartbeat).toEqual(kept);
    expect(world.log).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "gateway.config_keys_refused",
        gateway_id: home.gateway_id,
        keys: ["target"],
      }),
    );
    host.faults.refused_config_keys = [];
    for (const key of ["every", "target"])
      host.failNext("config.patch", { message: `invalid config: agents.x.heartbeat.${key}: no` });
    await setHeartbeat("24m");
    expect([patches().length, await job()]).toMatchObject([
      4,
      { status: "queued", last_error: expect.stringContaining("target: no") },
    ]);
  });

  test("a change of an agent's heartbeat keeps the other heartbeat settings that the host has", async () => {
    const config = configOf(host);
    const own = config.agents.entries?.[worker] ?? config.agents.list!.find(({ id }) => id === worker)!;
    own.heartbeat = { prompt: "Look around", every: "1h" };
    host.host.config.write(config as never);
    await setHeartbeat("25m");
    await setHeartbeat("25m");
    expect(entries()[worker]?.heartbeat).toEqual({ prompt: "Look around", ...heartbeat("25m") });
    expect(patches()).toHaveLength(1);
  });
});

describe("the job that writes heartbeat settings", () => {
  let home: Tenant;
  let group_id: string;
  let tenants = 0;

  beforeEach(async () => {
    home = await world.tenant(`job ${++tenants}`);
    group_id = await addGroup(world, home, "Group", [home.board_id]);
    await world.db.delete(jobs);
  });
  const setHeartbeat = (every: string) =>
    world.call("POST", `/api/v1/board-groups/${group_id}/heartbeat`, { token: home.owner.token, body: { every } });
  const job = async () =>
    (await world.db.select().from(jobs).where(eq(jobs.kind, "config.heartbeat")).orderBy(desc(jobs.seq)).limit(1))[0]!;

  test("a job whose host is down is retried later, and the gateway shows the error", async () => {
    await world.db.update(gateways).set({ connected: true, last_error: null }).where(eq(gateways.id, home.gateway_id));
    await setHeartbeat("15m");
    await world.drain();
    expect(await job()).toMatchObject({ status: "queued", attempts: 1, last_error: expect.stringContaining("ECONNREFUSED") });
    const gateway = (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, home.owner)).body;
    expect(gateway).toMatchObject({ connected: false, last_error: expect.stringContaining("ECONNREFUSED") });
  });

  test("a job whose agents are deleted ends without an error", async () => {
    await setHeartbeat("15m");
    await world.db.delete(agents).where(eq(agents.id, home.worker.id));
    await world.drain();
    expect((await job()).status).toBe("done");
  });
});
