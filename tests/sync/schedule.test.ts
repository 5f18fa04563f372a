import { gateways, jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { eq } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { getGatewayRow, listRuns, startSyncFixture, type SyncFixture } from "../support/sync-fixture.ts";
import { setupWorld } from "../support/fixtures.ts";

const MINUTE = 60_000;

const world = await setupWorld();

beforeEach(async () => {
  await world.db.update(gateways).set({ sync_interval_minutes: null, sync_due_at: null });
  await world.db.delete(jobs);
});

const start = () => startSyncFixture(world);
const set = async ({ home }: SyncFixture, body: object) => {
  const answer = await world.call("PATCH", `/api/v1/gateways/${home.gateway_id}`, { token: home.owner.token, body });
  expect(answer.status).toBe(200);
  return answer.body;
};
const dueIn = async ({ home }: SyncFixture) => {
  const { sync_due_at } = await getGatewayRow(world, home.gateway_id);
  return sync_due_at && (sync_due_at.getTime() - world.now().getTime()) / MINUTE;
};
const runSchedule = () => scheduled.sync(world.context());

test("scheduled syncs of a gateway are off until an interval is set", async () => {
  const fixture = await start();
  expect([(await getGatewayRow(world, fixture.home.gateway_id)).sync_interval_minutes, await dueIn(fixture)]).toEqual([
    null,
    null,
  ]);
  world.elapse(1_000_000 * MINUTE);
  await runSchedule();
  world.elapse(-1_000_000 * MINUTE);
  expect(await listRuns(world, fixture.home.gateway_id)).toEqual([]);
});

test("a new interval schedules the first sync within it, an equal interval changes nothing, and null turns the schedule off", async () => {
  const fixture = await start();
  const due_times: number[] = [];
  for (let n = 0; n < 8; n++) {
    await set(fixture, { sync_interval_minutes: 600 + n });
    due_times.push((await dueIn(fixture))!);
  }
  for (const due of due_times) expect(due > -1 && due <= 610).toBe(true);
  expect(new Set(due_times.map(Math.round)).size).toBeGreaterThan(1);
  const before = (await getGatewayRow(world, fixture.home.gateway_id)).sync_due_at;
  await set(fixture, { sync_interval_minutes: 607, name: "Renamed" });
  expect((await getGatewayRow(world, fixture.home.gateway_id)).sync_due_at).toEqual(before);
  expect((await set(fixture, { sync_interval_minutes: null })).sync_interval_minutes).toBeNull();
  expect(await dueIn(fixture)).toBeNull();
  const body = { name: "New", url: "ws://127.0.0.1:9", workspace_root: "/srv/agents", sync_interval_minutes: 30 };
  const made = (await world.call("POST", "/api/v1/gateways", { token: fixture.home.owner.token, body })).body;
  const { sync_due_at } = await getGatewayRow(world, made.id);
  expect((sync_due_at!.getTime() - world.now().getTime()) / MINUTE).toBeLessThanOrEqual(30);
});

test("a gateway that is due is synced once with default parameters, and is due again an interval later", async () => {
  const fixture = await start();
  const { home, run, tokenOnHost, lead, calls } = fixture;
  await set(fixture, { sync_interval_minutes: 100 });
  const { updated_at } = await getGatewayRow(world, home.gateway_id);
  world.elapse(100 * MINUTE);
  await Promise.all([runSchedule(), runSchedule()]);
  await runSchedule();
  const runs = await listRuns(world, home.gateway_id);
  expect(runs).toMatchObject([{ cause: "schedule", status: "running" }]);
  const next = (await dueIn(fixture))!;
  expect([next >= 90 - 1, next <= 110]).toEqual([true, true]);
  expect((await getGatewayRow(world, home.gateway_id)).updated_at).toEqual(updated_at);
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

test("later syncs are spread around the interval, so that gateways scheduled at the same moment drift apart", async () => {
  const fixtures = await Promise.all([start(), start(), start(), start()]);
  for (const fixture of fixtures) await set(fixture, { sync_interval_minutes: 10_000 });
  const due_at = new Date(world.now().getTime() - 1);
  for (const { home } of fixtures)
    await world.db.update(gateways).set({ sync_due_at: due_at }).where(eq(gateways.id, home.gateway_id));
  await runSchedule();
  const due_times = await Promise.all(fixtures.map(dueIn));
  for (const due of due_times) expect(due! > 8_999 && due! <= 11_000).toBe(true);
  expect(new Set(due_times.map((due) => Math.round(due!))).size).toBeGreaterThan(1);
});

test("a gateway whose last scheduled sync is still running is skipped, and due again later", async () => {
  const fixture = await start();
  await set(fixture, { sync_interval_minutes: 5 });
  world.elapse(6 * MINUTE);
  await runSchedule();
  world.elapse(6 * MINUTE);
  await runSchedule();
  expect(await listRuns(world, fixture.home.gateway_id)).toHaveLength(1);
  expect(await dueIn(fixture)).toBeGreaterThan(0);
  await world.drain();
  world.elapse(6 * MINUTE);
  await runSchedule();
  expect(await listRuns(world, fixture.home.gateway_id)).toHaveLength(2);
  world.elapse(-18 * MINUTE);
});

test("more gateways than fit into one transaction are all scheduled", async () => {
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
  await runSchedule();
  const started = (await world.db.select().from(jobs)).filter(({ kind }) => kind === "sync.start");
  expect(new Set(started.map(({ gateway_id }) => gateway_id))).toEqual(new Set(made.map(({ id }) => id)));
});
