import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPullBoard, type PullBoard } from "../support/pull-board.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
let board: PullBoard;

beforeAll(async () => {
  world = await createWorld();
  board = await openPullBoard(world, "planned");
});
afterAll(() => world.close());

test("an inbox that is planned while nobody holds a lease never walks the leases of all organizations", async () => {
  await world.db.execute(sql`insert into tasks (board_id, title, status)
    select ${board.board_id}, 'Task ' || n, 'done' from generate_series(1, 5000) as n`);
  await world.db.execute(sql`analyze tasks`);
  world.statements.length = 0;
  await board.inbox(board.worker);
  const statement = world.statements.find((text) => text.includes("lease_seconds"))!;
  expect(statement).toContain('from "agents"');
  const plan = await world.db.execute(sql`explain (generic_plan) ${sql.raw(statement)}`);
  const lines = (plan as unknown as { rows: Record<string, string>[] }).rows.map((row) => row["QUERY PLAN"]!);
  expect(lines.join("\n")).toContain("tasks_unfinished");
  expect(lines.filter((line) => line.includes("tasks_by_lease"))).toEqual([]);
});
