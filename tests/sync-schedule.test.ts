import { gateways, jobs } from "@board/core/db/schema";
import { scheduled } from "@board/core/schedule";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { gatewayRow, runsOf, startStage, type SyncStage } from "./support/sync.ts";
import { createWorld, type World } from "./support/world.ts";

const MINUTE = 60_000;
let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.db.update(gateways).set({ sync_interval_minutes: null, sync_due_at: null });
  await world.db.delete(jobs);
});

const start = () => startStage(world);
const set = async ({ home }: SyncStage, body: object) => {
  const answer = await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body });
  expect(answer.status).toBe(200);
  return answer.body;
};
const dueIn = async ({ home }: SyncStage) => {
  const { sync_due_at } = await gatewayRow(world, home.gateway_id);
  return sync_due_at && (sync_due_at.getTime() - world.now().getTime()) / MINUTE;
};
const tick = () => scheduled.sync(world.context());

test("is off until somebody sets an interval", async () => {
  const stage = await start();
  expect([(await gatewayRow(world, stage.home.gateway_id)).sync_interval_minutes, await dueIn(stage)]).toEqual([null, null]);
  world.elapse(1_000_000 * MINUTE);
  await tick();
  world.elapse(-1_000_000 * MINUTE);
  expect(await runsOf(world, stage.home.gateway_id)).toEqual([]);
});

test("an interval that is set puts the first sync somewhere within it, an equal one changes nothing, null ends it", async () => {
  const stage = await start();
  const dues: number[] = [];
  for (let n = 0; n < 8; n++) {
    await set(stage, { sync_interval_minutes: 600 + n });
    dues.push((await dueIn(stage))!);
  }
  for (const due of dues) expect(due > -1 && due <= 610).toBe(true);
  expect(new Set(dues.map(Math.round)).size).toBeGreaterThan(1);
  const before = (await gatewayRow(world, stage.home.gateway_id)).sync_due_at;
  await set(stage, { sync_interval_minutes: 607, name: "Renamed" });
  expect((await gatewayRow(world, stage.home.gateway_id)).sync_due_at).toEqual(before);
  expect((await set(stage, { sync_interval_minutes: null })).sync_interval_minutes).toBeNull();
  expect(await dueIn(stage)).toBeNull();
  const body = { name: "New", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents", sync_interval_minutes: 30 };
  const made = (await world.call("POST", "/api/v1/gateways", { token: stage.home.owner.token, body })).body;
  const { sync_due_at } = await gatewayRow(world, made.id);
  expect((sync_due_at!.getTime() - world.now().getTime()) / MINUTE).toBeLessThanOrEqual(30);
});

test("a gateway that is due is synced once, with nothing special, and is due again an interval later", async () => {
  const stage = await start();
  const { home, run, tokenOnHost, lead, calls } = stage;
  await set(stage, { sync_interval_minutes: 100 });
  const { updated_at } = await gatewayRow(world, home.gateway_id);
  world.elapse(100 * MINUTE);
  await Promise.all([tick(), tick()]);
  await tick();
  const runs = await runsOf(world, home.gateway_id);
  expect(runs).toMatchObject([{ cause: "schedule", status: "running" }]);
  const next = (await dueIn(stage))!;
  expect([next >= 90 - 1, next <= 110]).toEqual([true, true]);
  expect((await gatewayRow(world, home.gateway_id)).updated_at).toEqual(updated_at);
  await world.drain();
  const { status, cause, result } = (await run(runs[0]!.id)).body;
  expect([status, cause, result.errors, result.total_synced, result.include_main, result.reset_sessions]).toEqual([
    "done",
    "schedule",
    [],
    3,
    true,
    false,
  ]);
  expect([tokenOnHost(lead), calls("sessions.reset"), calls("chat.send")]).toEqual([lead.token, [], []]);
  world.elapse(-100 * MINUTE);
});

test("the next ones are spread around the interval, so that gateways set at once do not stay together", async () => {
  const stages = await Promise.all([start(), start(), start(), start()]);
  for (const stage of stages) await set(stage, { sync_interval_minutes: 10_000 });
  const due_at = new Date(world.now().getTime() - 1);
  for (const { home } of stages)
    await world.db.update(gateways).set({ sync_due_at: due_at }).where(eq(gateways.id, home.gateway_id));
  await tick();
  const dues = await Promise.all(stages.map(dueIn));
  for (const due of dues) expect(due! > 8_999 && due! <= 11_000).toBe(true);
  expect(new Set(dues.map((due) => Math.round(due!))).size).toBeGreaterThan(1);
});

test("a gateway whose last scheduled sync is still going on is left out, and due again later", async () => {
  const stage = await start();
  await set(stage, { sync_interval_minutes: 5 });
  world.elapse(6 * MINUTE);
  await tick();
  world.elapse(6 * MINUTE);
  await tick();
  expect(await runsOf(world, stage.home.gateway_id)).toHaveLength(1);
  expect(await dueIn(stage)).toBeGreaterThan(0);
  await world.drain();
  world.elapse(6 * MINUTE);
  await tick();
  expect(await runsOf(world, stage.home.gateway_id)).toHaveLength(2);
  world.elapse(-18 * MINUTE);
});

test("more gateways than fit into one transaction are all taken", async () => {
  const { home } = await start();
  const organization_id = home.organization_id;
  const values = {
    organization_id,
    url: "ws://127.0.0.1:9",
    workspace_root: "/srv",
    sync_interval_minutes: 60,
    sync_due_at: new Date(0),
  };
  const made = await world.db
    .insert(gateways)
    .values(Array.from({ length: 60 }, (_, n) => ({ ...values, name: `Host ${n}` })))
    .returning();
  await tick();
  const started = (await world.db.select().from(jobs)).filter(({ kind }) => kind === "sync.start");
  expect(new Set(started.map(({ gateway_id }) => gateway_id))).toEqual(new Set(made.map(({ id }) => id)));
});
