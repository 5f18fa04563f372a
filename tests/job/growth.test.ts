import { rowsOf } from "@board/core/db/database";
import { relay } from "@board/core/job/relay";
import { leaseJob } from "@board/core/job/lease";
import { resolveUnleased } from "@board/core/job/not-leased";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openGrowthWorld } from "../support/growth-world.ts";

const { world } = await setup(openGrowthWorld());
const home = await world.tenant("home");

async function readRowsVisited(): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(
    sql`select (seq_tup_read + idx_tup_fetch)::int as visited from pg_stat_user_tables where relname = 'jobs'`,
  );
  return rowsOf<{ visited: number }>(result)[0]!.visited;
}

const LANES = 3_000;

/** Adds jobs that each have a lane, and returns their ids. */
async function addJobs(count: number, status: "queued" | "done", sent_at: Date | null): Promise<string[]> {
  const { organization_id, gateway_id } = home;
  const added = await world.db.execute(sql`
    insert into jobs (kind, lane, organization_id, gateway_id, payload, run_at, sent_at, max_attempts, status, finished_at)
    select 'webhook.notify', ${status} || n, ${organization_id}, ${gateway_id}, '{}', now(), ${sent_at?.toISOString() ?? null}::timestamptz,
      1, ${status}, case ${status} when 'done' then now() end
    from generate_series(1, ${count}::int) as n returning id`);
  return rowsOf<{ id: string }>(added).map(({ id }) => id);
}

/** Adds queued jobs after the database has made its statistics, which therefore show only done jobs. Returns their ids. */
async function addBacklog(): Promise<string[]> {
  await world.db.execute(sql`delete from jobs`);
  await addJobs(20_000, "done", new Date());
  await world.db.execute(sql`vacuum analyze jobs`);
  return addJobs(LANES, "queued", new Date());
}

test("leasing a job does not visit jobs of other lanes, even when a backlog arrived after the planner's last statistics", async () => {
  const ids = await addBacklog();
  const before = await readRowsVisited();
  for (const id of ids.slice(0, 10)) {
    expect((await leaseJob(world.context(), id))?.id).toBe(id);
    await world.db.execute(sql`update jobs set status = 'done', organization_slot = null, gateway_slot = null where id = ${id}`);
  }
  expect((await readRowsVisited()) - before).toBeLessThan(300);
});

test("finding out why a job could not be leased does not visit jobs of other lanes", async () => {
  const ids = await addBacklog();
  const before = await readRowsVisited();
  for (const id of ids.slice(0, 10)) {
    expect((await resolveUnleased(world.context(), id)).outcome).toBe("leased");
    expect((await resolveUnleased(world.context(), id)).outcome).toBe("waiting");
    await world.db.execute(sql`update jobs set status = 'done', organization_slot = null, gateway_slot = null where id = ${id}`);
  }
  expect((await readRowsVisited()) - before).toBeLessThan(300);
});

test("relaying a lane does not visit jobs of other lanes, even when the statement was planned while there were no jobs", async () => {
  const sent: string[] = [];
  const relayLane = (lane: string) =>
    relay(
      world.context(),
      async (wakeUps) => {
        sent.push(...wakeUps.map(({ id }) => id));
        return { failed: [] };
      },
      { lanes: new Set([lane]), ids: new Set(), everything: false },
    );
  await world.db.execute(sql`delete from jobs`);
  for (let use = 0; use < 15; use++) await relayLane("none");
  const ids = await addJobs(LANES, "queued", null);
  const before = await readRowsVisited();
  for (let n = 1; n <= 10; n++) await relayLane(`queued${n}`);
  expect(sent).toEqual(ids.slice(0, 10));
  expect((await readRowsVisited()) - before).toBeLessThan(300);
});
