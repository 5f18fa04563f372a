import { rowsOf } from "@board/core/db/database";
import { scheduled } from "@board/api/work/schedules";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { addEvents } from "../support/activity.ts";
import { openGrowthWorld } from "../support/growth-world.ts";

const BOARDS = 1_000;
const DAY = 86_400_000;
const TABLES = ["activity_counts", "activity_events", "board_webhooks", "boards", "organizations"];

const { world } = await setup(openGrowthWorld({ environment: { ACTIVITY_RETENTION_DAYS: "30" } }));
const home = await world.tenant("home");
// Each other organization has a board, recent events on it, and recent events without a board.
const others = sql`(select row_number() over (order by id) as n, id from organizations where name = 'Other') as other`;
await world.db.execute(sql`insert into organizations (name) select 'Other' from generate_series(1, ${BOARDS}::int)`);
await world.db.execute(sql`
    insert into boards (organization_id, gateway_id, name, slug, description)
    select other.id, ${home.gateway_id}, 'Other', 'other', '' from ${others}`);
await world.db.execute(sql`
    insert into activity_events (organization_id, board_id, event_type, created_at)
    select board.organization_id, case when n < 4 then board.id end, 'task.updated', now() - n * interval '1 day'
    from boards as board, generate_series(1, 5) as n where board.slug = 'other'`);
await world.db.execute(sql`
    insert into board_webhooks (board_id, description) select id, 'Other' from boards where slug = 'other'`);
await scheduled.lifecycle(world.context());
await world.db.execute(sql`vacuum analyze activity_events, activity_counts, board_webhooks, boards, organizations`);

/** Runs a schedule and returns the rows that it visited. */
async function countVisited(schedule: "lifecycle" | "retention"): Promise<number> {
  const before = await readVisited();
  await scheduled[schedule](world.context());
  return (await readVisited()) - before;
}

async function readVisited(tables = TABLES): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(sql`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0) + idx_scan)::int as visited from pg_stat_user_tables
    where relname = any(${sql.param(tables)}::text[])`);
  return rowsOf<{ visited: number }>(result)[0]!.visited;
}

/** Returns how many entries of an index were read. */
async function readOfIndex(name: string): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(
    sql`select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = ${name}`,
  );
  return rowsOf<{ read: number }>(result)[0]!.read;
}

const addOnHome = (count: number, days: number) =>
  addEvents(
    world,
    home,
    Array.from({ length: count }, (_, n) => ({
      board_id: n % 2 === 0 ? home.board_id : null,
      created_at: new Date(Date.now() - days * DAY),
    })),
  );

test("counting new events does not read boards without new events", async () => {
  expect(await countVisited("lifecycle")).toBeLessThan(100);
  await addOnHome(20, 0);
  expect(await countVisited("lifecycle")).toBeLessThan(300);
});

test("deleting a person reads no events of other people", async () => {
  const person = await world.member("leaver", home);
  const me = await world.call("GET", "/api/v1/users/me", { token: person.token });
  await world.db.execute(sql`
    insert into activity_events (organization_id, board_id, user_id, event_type)
    values (${home.organization_id}, ${home.board_id}, ${me.body.id}, 'task.updated')`);
  const before = await readVisited(["activity_events"]);
  expect((await world.call("DELETE", "/api/v1/users/me", { token: person.token })).status).toBe(200);
  expect((await readVisited(["activity_events"])) - before).toBeLessThan(20);
  expect(await world.db.$count(sql`activity_events where user_id = ${me.body.id}`)).toBe(0);
});

test("removing old events reads no rows of boards and organizations without old events", async () => {
  expect(await countVisited("retention")).toBeLessThan(100);
  await addOnHome(20, 40);
  await scheduled.lifecycle(world.context());
  expect(await countVisited("retention")).toBeLessThan(500);
  expect(await world.db.$count(sql`activity_events`)).toBe(BOARDS * 5 + 21);
});

test("entries of the changes feed are not read while even the oldest one is too young to be removed", async () => {
  expect(await world.db.$count(sql`changes`)).toBeGreaterThan(BOARDS);
  const before = await readVisited(["changes"]);
  await scheduled.retention(world.context());
  expect((await readVisited(["changes"])) - before).toBeLessThan(10);
});

test("reading the comments of a task reads no other comments of its board", async () => {
  const { token } = home.owner;
  await world.db.execute(sql`
    insert into tasks (board_id, title) select board.id, 'Commented' from boards as board, generate_series(1, 20)
    where board.id = ${home.board_id} or board.id in (select id from boards where slug = 'other' limit 20)`);
  await world.db.execute(sql`
    insert into activity_events (organization_id, board_id, task_id, event_type, message)
    select board.organization_id, board.id, task.id, 'task.comment', 'Comment' from generate_series(1, 100)
    join tasks as task on task.title = 'Commented' join boards as board on board.id = task.board_id`);
  await world.db.execute(sql`vacuum analyze activity_events`);
  const path = `/api/v1/boards/${home.board_id}/tasks`;
  const tasks = await world.call("GET", `${path}?limit=20`, { token });
  const before = await readOfIndex("comments_by_board");
  for (const { id } of tasks.body.items)
    expect((await world.call("GET", `${path}/${id}/comments`, { token })).body.total).toBe(100);
  expect((await readOfIndex("comments_by_board")) - before).toBe(0);
});

test("reading the activity of a task reads no other events of its board or organization", async () => {
  const { token } = home.owner;
  const { body } = await world.call("GET", `/api/v1/boards/${home.board_id}/tasks?limit=5`, { token });
  const before = [await readOfIndex("activity_by_board"), await readOfIndex("activity_by_organization")];
  for (const { id } of body.items)
    expect((await world.call("GET", `/api/v1/activity?task_id=${id}&limit=10`, { token })).body.total).toBe(100);
  expect([await readOfIndex("activity_by_board"), await readOfIndex("activity_by_organization")]).toEqual(before);
});
