import { activity_events, boards, gateways, jobs } from "@board/core/db/schema";
import { scheduled } from "@board/core/schedule";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FakeGateway, startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { takeAway } from "./support/provisioning.ts";
import { createWorld, type Tenant, type World } from "./support/world.ts";

const SPREAD_MS = 60_000;

let world: World;
let host: FakeGateway;
let home: Tenant;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
let tenants = 0;
beforeEach(async () => {
  await host?.close();
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.9.6" });
  await removeAll();
  await world.db.delete(jobs);
  await world.db.delete(activity_events);
  home = await world.tenant(`tenant ${++tenants}`, host.url);
});
afterAll(() => host.close());

/** Gateways and what hangs on them. */
async function removeAll(): Promise<void> {
  await world.db.delete(boards);
  await world.db.delete(gateways);
}
const probes = () => world.db.select().from(jobs).where(eq(jobs.kind, "gateway.probe"));
const shown = async () =>
  (await world.call("GET", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token })).body as Record<string, unknown>;
const set = (values: Partial<typeof gateways.$inferInsert>) =>
  world.db.update(gateways).set(values).where(eq(gateways.id, home.gateway_id));
const told = async () =>
  (await world.db.select().from(activity_events).orderBy(asc(activity_events.seq)))
    .map(({ event_type }) => event_type)
    .filter((type) => type.startsWith("gateway."));
async function probe(): Promise<void> {
  await scheduled.probe(world.context());
  world.elapse(SPREAD_MS);
  await world.drain();
}

describe("a run of the schedule", () => {
  test("has each host tried once, at times of their own", async () => {
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

  test("does nothing where there is nothing to try", async () => {
    await removeAll();
    await scheduled.probe(world.context());
    expect(await probes()).toEqual([]);
  });
});

test("a host that goes and comes back is told once each, and shown", async () => {
  await takeAway(world, host);
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
  expect(await told()).toEqual(["gateway.disconnected", "gateway.connected"]);
  expect((await probes()).every(({ status }) => status === "done")).toBe(true);
});

test("a host that stays as it was is not written to", async () => {
  const before = await shown();
  await probe();
  expect([await shown(), await told()]).toEqual([before, []]);
});

test("a host that was registered while it was away shows its version once it is there", async () => {
  await set({ connected: false, version: null, last_error: "Gateway connection failed: connect ECONNREFUSED" });
  await probe();
  expect(await shown()).toMatchObject({ connected: true, version: "2026.9.6", last_error: null });
});

test("a host that was made older is connected, and warned of; a call that succeeds does not take that back", async () => {
  const { port } = host;
  await takeAway(world, host);
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "2026.2.8", port });
  await probe();
  const warned = { connected: true, version: "2026.2.8", last_error: expect.stringContaining("not supported") };
  expect(await shown()).toMatchObject(warned);
  const path = `/api/v1/boards/${home.board_id}/memory`;
  await world.call("POST", path, { token: home.owner.token, body: { content: "Hello @lead", tags: ["chat"] } });
  await world.drain();
  expect(host.messages).toHaveLength(1);
  expect([await shown(), await told()]).toMatchObject([warned, []]);
});

test("a host that does not say what it is keeps its warning", async () => {
  const { port } = host;
  await takeAway(world, host);
  host = await startFakeGateway({ token: "test-token-123", dialect: "2026.2.9", version: "dev", port });
  await probe();
  expect(await shown()).toMatchObject({
    connected: true,
    version: null,
    last_error: expect.stringContaining("unable to determine gateway version"),
  });
});

test("a host that refuses its credentials, or is silent for ten seconds, is not connected", async () => {
  host.fail("connect", { message: "missing scope: operator.read" });
  await set({ token_sealed: null });
  await probe();
  expect(await shown()).toMatchObject({ connected: false, last_error: expect.stringContaining("missing required scope") });
  host.faults.silent_handshake = true;
  await probe();
  expect(await shown()).toMatchObject({ connected: false, last_error: expect.stringContaining("10 s") });
  expect(await told()).toEqual(["gateway.disconnected"]);
});

test("a gateway that is gone by then is not tried", async () => {
  await scheduled.probe(world.context());
  await removeAll();
  host.calls.length = 0;
  world.elapse(SPREAD_MS);
  await world.drain();
  expect([host.calls, (await probes()).map(({ status }) => status)]).toEqual([[], ["done"]]);
});
