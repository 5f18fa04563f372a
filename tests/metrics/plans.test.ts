import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addEvents } from "../support/activity.ts";
import { openGrowthWorld } from "../support/growth-world.ts";
import { addTask } from "../support/task.ts";
import type { Tenant, World } from "../support/world.ts";
import { readDashboard } from "./dashboard-fixture.ts";

const RANGES = ["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"];
/** PostgreSQL plans a prepared statement for the values of its first five uses, and then decides whether to keep one plan. */
const TRIED_PLANS = 5;
/** A statement is prepared at its fifth use, and the rarest statement runs once per round. */
const ROUNDS = 15;

let world: World;
let close: (() => Promise<void>) | undefined;
let home: Tenant;

beforeAll(async () => {
  ({ world, close } = await openGrowthWorld());
  home = await world.tenant("home");
  await addTask(world, home);
  await addEvents(
    world,
    home,
    Array.from({ length: 2_000 }, (_, n) => ({ created_at: new Date(Date.now() - n * 600_000) })),
  );
  await world.db.execute(sql`vacuum analyze`);
});
afterAll(() => close?.());

test("the statements of a dashboard keep one plan for all ranges", async () => {
  for (let round = 0; round < ROUNDS; round++)
    for (const range of RANGES) expect((await readDashboard(world, home.owner, { range })).status).toBe(200);
  const result = await world.db.execute(sql`
    select generic_plans::int as kept, custom_plans::int as made from pg_prepared_statements where statement like '%with given as materialized%'`);
  const statements = rowsOf<{ kept: number; made: number }>(result);
  // One statement each for the flow by hour, day, week and month, and one for the events.
  expect(statements).toHaveLength(5);
  for (const { kept, made } of statements) {
    expect(made).toBe(TRIED_PLANS);
    expect(kept).toBeGreaterThanOrEqual(TRIED_PLANS);
  }
});
