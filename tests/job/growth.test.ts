import { type Database, rowsOf } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { leaseJob } from "@board/core/job/lease";
import { silentLog } from "@board/core/log";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { createWorld, type World } from "../support/world.ts";

let postgres: Postgres;
let database: Database;
let world: World;

beforeAll(async () => {
  postgres = await startPostgres({ autovacuum: "off" });
  // With one connection, its statistics are complete once it has reported them.
  database = openPostgres(await postgres.createDatabase("leases"), { max: 1, log: silentLog });
  await database.migrate();
  world = await createWorld({ database });
});
afterAll(async () => {
  await world.close();
  await database.close();
  await postgres.stop();
});

async function readRowsVisited(): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(
    sql`select (seq_tup_read + idx_tup_fetch)::int as visited from pg_stat_user_tables where relname = 'jobs'`,
  );
  return rowsOf<{ visited: number }>(result)[0]!.visited;
}

test("a lease visits no job of other lanes when a backlog came after the last statistics", async () => {
  const { organization_id, gateway_id } = await world.tenant("home");
  const add = (count: number, status: string) =>
    world.db.execute(sql`
      insert into jobs (kind, lane, organization_id, gateway_id, payload, run_at, sent_at, max_attempts, status, finished_at)
      select 'webhook.notify', ${status} || n, ${organization_id}, ${gateway_id}, '{}', now(), now(), 1, ${status},
        case ${status} when 'done' then now() end
      from generate_series(1, ${count}::int) as n returning id`);
  await world.db.execute(sql`delete from jobs`);
  await add(20_000, "done");
  await world.db.execute(sql`vacuum analyze jobs`);
  const ids = rowsOf<{ id: string }>(await add(3_000, "queued")).map(({ id }) => id);
  const before = await readRowsVisited();
  for (const id of ids.slice(0, 10)) {
    expect((await leaseJob(world.context(), id))?.id).toBe(id);
    await world.db.execute(sql`update jobs set status = 'done', organization_slot = null, gateway_slot = null where id = ${id}`);
  }
  expect((await readRowsVisited()) - before).toBeLessThan(300);
});
