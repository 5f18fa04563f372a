import { activity_events, boards, gateway_connectivity, gateways, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { renew, setupWorld } from "../support/fixtures.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { stopHost } from "../support/provisioning.ts";

const SPREAD_MS = 60_000;

let host: FakeGateway;

const world = await setupWorld();

beforeEach(async () => {
  await host?.close();
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" });
  await removeAll();
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
});
const home = renew((n) => world.tenant(`tenant ${n}`, host.url));
afterAll(() => host.close());

/** Deletes all gateways and the rows that depend on them. */
async function removeAll(): Promise<void> {
  await world.db.delete(boards);
  await world.db.delete(gateways);
}
const probes = () => world.db.select().from(jobs).where(eq(jobs.kind, "gateway.probe"));
const shown = async () =>
  (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token })).body as Record<string, unknown>;
const set = (values: Partial<typeof gateways.$inferInsert>) =>
  world.db.update(gateways).set(values).where(eq(gateways.id, home.gateway_id));
const recordedEvents = async () =>
  (await world.db.select().from(activity_events).orderBy(asc(activity_events.seq)))
    .map(({ event_type }) => event_type)
    .filter((type) => type.startsWith("gateway."));
async function probe(): Promise<void> {
  await scheduled.probe(world.context());
  world.elapse(SPREAD_MS);
  await world.drain();
}

describe("a run of the connectivity schedule", () => {
  test("a run probes each host once, at different times", async () => {
    const row = (await world.db.select().from(gateways))[0]!;
    const others = Array.from({ length: 120 }, (_, number) => ({ ...row, id: crypto.randomUUID(), name: `Host ${number}` }));
    await world.db.insert(gateways).values(others);
    const before = world.now().getTime();
    await scheduled.probe(world.context());
    await scheduled.probe(world.context());
    const made = await probes();
    expect(new Set(made.map(({ gateway_id }) => gateway_id)).size).toBe(121);
    expect(made).toHaveLength(121);
    const delays = made.map(({ run_at }) => run_at.getTime() - before);
    expect(Math.max(...delays)).toBeLessThanOrEqual(SPREAD_MS + 5_000);
    expect(new Set(delays).size).toBeGreaterThan(60);
    expect(made.every(({ lane, organization_id }) => lane === null && organization_id === home.organization_id)).toBe(true);
  });

  test("a run without gateways does nothing", async () => {
    await removeAll();
    await scheduled.probe(world.context());
    expect(await probes()).toEqual([]);
  });
});

test("each outage and each return of a host is recorded once, and the gateway shows its state", async () => {
  await stopHost(world, host);
  await probe();
  await probe();
  expect(await shown()).toMatchObject({
    connected: false,
    last_error: expect.stringContaining("ECONNREFUSED"),
    version: "2026.9.6",
  });
  await host.start();
  await probe();
  await probe();
  expect(await shown()).toMatchObject({ connected: true, last_error: null, version: "2026.9.6" });
  expect(await recordedEvents()).toEqual(["gateway.disconnected", "gateway.connected"]);
  expect((await probes()).every(({ status }) => status === "done")).toBe(true);
});

test("the row of a gateway is written only when the state of its host changes", async () => {
  const before = await shown();
  await probe();
  expect([await shown(), await recordedEvents()]).toEqual([before, []]);
});

test("a host that was registered while it was down shows its version after it comes up", async () => {
  await set({ connected: false, version: null, last_error: "Gateway connection failed: connect ECONNREFUSED" });
  await probe();
  expect(await shown()).toMatchObject({ connected: true, version: "2026.9.6", last_error: null });
});

test("a host that was downgraded is connected with a warning, and a successful call keeps the warning", async () => {
  const { port } = host;
  await stopHost(world, host);
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "2026.2.8", port });
  await probe();
  const warned = { connected: true, version: "2026.2.8", last_error: expect.stringContaining("not supported") };
  expect(await shown()).toMatchObject(warned);
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await world.call("POST", path, { token: home.owner.token, body: { content: "Hello @lead", tags: ["chat"] } });
  await world.drain();
  expect(host.messages).toHaveLength(1);
  expect([await shown(), await recordedEvents()]).toMatchObject([warned, []]);
});

test("a host of unknown version keeps its warning", async () => {
  const { port } = host;
  await stopHost(world, host);
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "dev", port });
  await probe();
  expect(await shown()).toMatchObject({
    connected: true,
    version: null,
    last_error: expect.stringContaining("unable to determine gateway version"),
  });
});

test("a host that refuses its credentials, or does not answer for five seconds, is not connected", async () => {
  host.failNext("connect", { message: "missing scope: operator.read" });
  await set({ token_sealed: null });
  await probe();
  expect(await shown()).toMatchObject({ connected: false, last_error: expect.stringContaining("missing required scope") });
  host.faults.silent_handshake = true;
  await probe();
  expect(await shown()).toMatchObject({ connected: false, last_error: expect.stringContaining("5 s") });
  expect(await recordedEvents()).toEqual(["gateway.disconnected"]);
});

test("a gateway that was deleted before its probe is not probed", async () => {
  await scheduled.probe(world.context());
  await removeAll();
  host.calls.length = 0;
  world.elapse(SPREAD_MS);
  await world.drain();
  expect([host.calls, (await probes()).map(({ status }) => status)]).toEqual([[], ["done"]]);
});

describe("the history of a gateway's connectivity", () => {
  type Entry = { state: string; version: string | null; error: string | null; created_at: string };
  const path = () => `/api/v1/gateways/${home.gateway_id}/connectivity/changes`;
  const read = async (query = "?limit=200"): Promise<Entry[]> => {
    const { status, body } = await world.call("GET", path() + query, { token: home.owner.token });
    expect(status).toBe(200);
    return body.items;
  };
  const latest = async () => (await read())[0]!;

  test("the history begins with the registration, and has an entry for each change of state or version, newest first", async () => {
    const [first, ...others] = await read();
    expect([first, others]).toEqual([
      { id: expect.any(String), created_at: expect.any(String), state: "connected", version: "2026.9.6", error: null },
      [],
    ]);
    await stopHost(world, host);
    await probe();
    // Another reason for the same state is not a change.
    await set({ last_error: "Gateway connection closed: 1006" });
    await probe();
    await probe();
    expect(await latest()).toMatchObject({ state: "disconnected", error: expect.stringContaining("ECONNREFUSED") });
    expect(Date.parse((await latest()).created_at)).toBeGreaterThan(Date.parse(first!.created_at));
    await host.start();
    await probe();
    await probe();
    const { port } = host;
    await host.close();
    host = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "2026.2.8", port });
    await probe();
    await probe();
    expect((await read()).map(({ state, version }) => [state, version])).toEqual([
      ["warned", "2026.2.8"],
      ["connected", "2026.9.6"],
      ["disconnected", "2026.9.6"],
      ["connected", "2026.9.6"],
    ]);
    expect((await latest()).error).toContain("not supported");
  });

  test("a change of the token after which the connection fails adds an entry, and a change of the name adds none", async () => {
    const change = (body: object) =>
      world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body });
    expect((await change({ name: "Renamed" })).status).toBe(200);
    expect(await read()).toHaveLength(1);
    expect((await change({ token: "wrong-token-456" })).status).toBe(200);
    const entry = await latest();
    expect(entry).toMatchObject({ state: "disconnected", version: null });
    expect(entry.error).not.toContain("wrong-token-456");
  });

  test("only the newest 50 entries of a gateway are kept", async () => {
    const { gateway_id } = home;
    const before = Date.now() - 3_600_000;
    const old = Array.from({ length: 60 }, (_, n) => ({
      gateway_id,
      state: "connected" as const,
      created_at: new Date(before + n),
    }));
    await world.db.insert(gateway_connectivity).values(old);
    await stopHost(world, host);
    await probe();
    const entries = await read();
    expect([entries.length, entries[0]!.state]).toEqual([50, "disconnected"]);
    expect(await read("?limit=20")).toEqual(entries.slice(0, 20));
  });
});
