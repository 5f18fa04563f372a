import { countActivity } from "@board/core/activity/count";
import { countEvents } from "@board/core/activity/count-intervals";
import { activity_counts, activity_events } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { asc, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { addEvents, clearLog, countFromLog, randomEdges } from "../support/activity.ts";
import { addTask } from "../support/task.ts";
import { setupWorld } from "../support/fixtures.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const world = await setupWorld({ environment: { ACTIVITY_RETENTION_DAYS: "30" } });
const home = await world.tenant("home");

beforeEach(() => clearLog(world));

/** Returns the start of the oldest hour that is kept. */
const edge = () => Math.floor((Date.now() - 30 * DAY) / HOUR) * HOUR;
const at = (ms: number) => new Date(edge() + ms);

async function expectTrue(): Promise<void> {
  const { board_id, organization_id } = home;
  const edges = randomEdges(at(-5 * DAY), at(31 * DAY), 6);
  expect(await countEvents(world.context(), [board_id], edges)).toEqual(await countFromLog(world, [board_id], edges));
  const all = await world.db.$count(activity_events, sql`${activity_events.organization_id} = ${organization_id}`);
  expect(await countActivity(world.context(), [board_id], organization_id)).toBe(all);
  const listed = await world.call("GET", "/api/v1/activity?limit=1", { token: home.owner.token });
  expect(listed.body.total).toBe(all);
}
const messages = async () =>
  (await world.db.select().from(activity_events).orderBy(asc(activity_events.created_at))).map(({ message }) => message);

async function addAges(): Promise<void> {
  const { board_id } = home;
  const { id: task_id } = await addTask(world, home);
  await addEvents(world, home, [
    { board_id, message: "old", created_at: at(-90 * DAY) },
    { board_id, message: "old comment", event_type: "task.comment", task_id, created_at: at(-60 * DAY) },
    { board_id, message: "old next to the comment", task_id, created_at: at(-60 * DAY + 1) },
    { message: "old on no board", created_at: at(-DAY) },
    { board_id, message: "just old", event_type: "webhook.notify_failed", created_at: at(-1) },
    { message: "just old on no board", created_at: at(-1) },
    { board_id, message: "just young", created_at: at(0) },
    { message: "just young on no board", created_at: at(1) },
    { board_id, message: "young", created_at: at(30 * DAY) },
  ]);
}
const YOUNG = ["just young", "just young on no board", "young"];

test("events older than the retention setting are deleted in whole hours; comments stay with their task, and all numbers stay correct", async () => {
  await addAges();
  await scheduled.lifecycle(world.context());
  await expectTrue();
  await scheduled.retention(world.context());
  expect(await messages()).toEqual(["old comment", ...YOUNG]);
  await expectTrue();
  // The counts of an hour are removed with its last event.
  const hours = await world.db.select({ events: activity_counts.events }).from(activity_counts);
  expect(hours.map(({ events }) => events).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 3]);
  await addEvents(world, home, [{ board_id: home.board_id, message: "late", created_at: at(-2 * HOUR) }]);
  await scheduled.lifecycle(world.context());
  await expectTrue();
  await scheduled.retention(world.context());
  expect(await messages()).toEqual(["old comment", ...YOUNG]);
  await expectTrue();
});

test("an event that is not counted yet is kept until it is counted", async () => {
  await addAges();
  await scheduled.retention(world.context());
  expect(await messages()).toEqual(["old", "old comment", "old next to the comment", "just old", ...YOUNG]);
  await expectTrue();
  await scheduled.lifecycle(world.context());
  await scheduled.retention(world.context());
  expect(await messages()).toEqual(["old comment", ...YOUNG]);
  await expectTrue();
});

test("without the retention setting, all events are kept", async () => {
  await addAges();
  await scheduled.lifecycle(world.context());
  const kept = await messages();
  const ctx = world.context();
  await scheduled.retention({ ...ctx, settings: { ...ctx.settings, activity_retention_days: 0 } });
  expect(await messages()).toEqual(kept);
});

test("one run deletes more than one batch of old events of one hour, with and without a board", async () => {
  const { board_id, organization_id } = home;
  const hour = at(-DAY).toISOString();
  await world.db.execute(sql`insert into ${activity_events} (organization_id, board_id, event_type, message, created_at)
    select ${organization_id}, case when n % 2 = 0 then ${board_id}::uuid end, 'task.updated', 'old', ${hour}::timestamptz
    from generate_series(1, 12000) as n`);
  await addEvents(world, home, [{ board_id, message: "young" }]);
  await scheduled.lifecycle(world.context());
  await scheduled.retention(world.context());
  expect(await messages()).toEqual(["young"]);
  await expectTrue();
});
