import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { addEvents } from "../support/activity.ts";
import { openGrowthWorld } from "../support/growth-world.ts";
import { addTask } from "../support/task.ts";
import { readDashboard } from "./dashboard-fixture.ts";

const RANGES = ["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"];
/** PostgreSQL plans a prepared statement for the values of its first five uses, and then decides whether to keep one plan. */
const TRIED_PLANS = 5;
/** A statement is prepared at its fifth use, and the rarest statement runs once per round. */
const ROUNDS = 15;

const { world } = await setup(openGrowthWorld());
const home = await world.tenant("home");
await addTask(world, home);
await addEvents(
  world,
  home,
  Array.from({ length: 2_000 }, (_, n) => ({ board_id: home.board_id, created_at: new Date(Date.now() - n * 600_000) })),
);
await world.db.execute(sql`vacuum analyze`);

test("the statements of a dashboard keep one plan for all ranges", async () => {
  for (let round = 0; round < ROUNDS; round++)
    for (const range of RANGES) expect((await readDashboard(world, home.owner, { range })).status).toBe(200);
  const result = await world.db.execute(sql`
    select generic_plans::int as kept, custom_plans::int as made from pg_prepared_statements where statement like '%with input as materialized%'`);
  const statements = rowsOf<{ kept: number; made: number }>(result);
  // There is one statement each for the moves of tasks by hour, day, week and month, and one for the events.
  expect(statements).toHaveLength(5);
  for (const { kept, made } of statements) {
    expect(made).toBe(TRIED_PLANS);
    expect(kept).toBeGreaterThanOrEqual(TRIED_PLANS);
  }
});

test("a dashboard counts a long backlog, so that the next one does not read single events", async () => {
  await addEvents(
    world,
    home,
    Array.from({ length: 1_200 }, (_, n) => ({ board_id: home.board_id, created_at: new Date(Date.now() - n) })),
  );
  const first = await readDashboard(world, home.owner, { range: "1m" });
  const before = await readEntries("activity_by_board", "activity_in_commit_order");
  const second = await readDashboard(world, home.owner, { range: "1m" });
  expect(second.body.error_rate).toEqual(first.body.error_rate);
  // The hours that contain the starts of both windows have no more than six events each.
  expect((await readEntries("activity_by_board", "activity_in_commit_order")) - before).toBeLessThan(20);
});

async function readEntries(...indexes: string[]): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(
    sql`select sum(idx_tup_read)::int as entries from pg_stat_user_indexes where indexrelname = any(${sql.param(indexes)}::text[])`,
  );
  return rowsOf<{ entries: number }>(result)[0]!.entries;
}
