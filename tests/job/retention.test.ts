import { rowsOf } from "@board/core/db/database";
import { jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openGrowthWorld } from "../support/growth-world.ts";

const { world } = await setup(openGrowthWorld());

/** Adds jobs that ended a number of days ago. */
async function addEnded(status: "done" | "dead", days: number, count: number): Promise<void> {
  await world.db.execute(sql`
    insert into jobs (kind, payload, run_at, max_attempts, status, finished_at)
    select 'gateway.probe', '{}', now(), 1, ${status}, now() - ${days} * interval '1 day' from generate_series(1, ${count}::int)`);
}

async function readRowsVisited(): Promise<{ scanned: number; fetched: number }> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(
    sql`select seq_tup_read::int as scanned, idx_tup_fetch::int as fetched from pg_stat_user_tables where relname = 'jobs'`,
  );
  return rowsOf<{ scanned: number; fetched: number }>(result)[0]!;
}

test("the retention of jobs visits the jobs that are due and no others", async () => {
  await addEnded("done", 1, 20_000);
  await addEnded("dead", 20, 20_000);
  await addEnded("done", 8, 30);
  await addEnded("dead", 31, 20);
  await world.db.execute(sql`analyze jobs`);
  const before = await readRowsVisited();
  await scheduled.retention(world.context());
  const after = await readRowsVisited();
  expect(await world.db.$count(jobs)).toBe(40_000);
  expect(after.scanned - before.scanned).toBe(0);
  // Each due job is read to find it, to lock it and to delete it. Other statements read a few more rows.
  expect(after.fetched - before.fetched).toBeLessThan(500);
});

test("more ended jobs than one batch holds are removed in one run, dead ones after 30 days", async () => {
  await world.db.delete(jobs);
  await addEnded("done", 7.1, 12_000);
  await addEnded("done", 6.9, 3);
  await addEnded("dead", 30.1, 6_000);
  await addEnded("dead", 29.9, 4);
  await scheduled.retention(world.context());
  const left = await world.db.execute(sql`select status, count(*)::int as total from jobs group by status order by status`);
  expect(rowsOf(left)).toEqual([
    { status: "dead", total: 4 },
    { status: "done", total: 3 },
  ]);
});
