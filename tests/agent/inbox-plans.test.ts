import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openGrowthWorld } from "../support/growth-world.ts";
import { openPullBoard } from "../support/pull-board.ts";

/** Another organization has this many tasks in progress, and as many free ones. */
const OTHERS = 6_000;

const { world } = await setup(openGrowthWorld());
const [home, other] = [await openPullBoard(world, "home"), await openPullBoard(world, "other")];
// The statement is prepared while the statistics show no work. The other organization's work comes later.
await world.db.execute(sql`insert into tasks (board_id, title, status)
    select ${home.board_id}, 'Task ' || n, 'done' from generate_series(1, 5000) as n`);
await world.db.execute(sql`analyze tasks`);
for (let n = 0; n < 10; n++) await home.inbox(home.worker);
await world.db.execute(sql`insert into tasks (board_id, title, status, assigned_agent_id, lease_expires_at, lease_seconds)
    select ${other.board_id}, 'Task ' || n, 'in_progress', ${other.worker.id}, now() + interval '1 hour', 3600
    from generate_series(1, ${OTHERS}::int) as n`);
await world.db.execute(sql`insert into tasks (board_id, title, status)
    select ${other.board_id}, 'Free ' || n, 'inbox' from generate_series(1, ${OTHERS}::int) as n`);

/** Returns how many rows and index entries the database has read so far. */
async function countReads(): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(sql`select (select sum(seq_tup_read) from pg_stat_user_tables)::int
    + (select sum(idx_tup_read) from pg_stat_user_indexes)::int as reads`);
  return rowsOf<{ reads: number }>(result)[0]!.reads;
}

/** Returns how many rows and index entries the database reads for one request of an inbox. */
async function readsOf(inbox: () => Promise<unknown>): Promise<number> {
  const before = await countReads();
  await inbox();
  return (await countReads()) - before;
}

test("an inbox does not read leases and free tasks of other organizations, even if its SQL was planned before these rows existed", async () => {
  for (const agent of [home.worker, home.lead]) {
    expect((await home.inbox(agent)).body).toMatchObject({ has_work: false });
    expect(await readsOf(() => home.inbox(agent))).toBeLessThan(100);
  }
  await home.addTask();
  await home.addTask({ assigned_agent_id: home.worker.id });
  for (const agent of [home.worker, home.lead]) {
    expect((await home.inbox(agent)).body).toMatchObject({ has_work: true });
    expect(await readsOf(() => home.inbox(agent))).toBeLessThan(100);
  }
});
