import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { openGrowthWorld } from "../support/growth-world.ts";
import { readDashboard } from "./dashboard-fixture.ts";

const BOARDS = 2_000;
const AGENTS = 20_000;
/** More boards than PostgreSQL assumes for an array, so that it prefers the generic plan. */
const OWN_BOARDS = 30;
/** After this many requests PostgreSQL keeps one plan. */
const DASHBOARDS = 15;

const { world } = await setup(openGrowthWorld());
const home = await world.tenant("home");
await world.db.execute(sql`insert into organizations (name) select 'Other' from generate_series(1, ${BOARDS}::int)`);
await world.db.execute(sql`
    insert into boards (organization_id, gateway_id, name, slug, description)
    select id, ${home.gateway_id}, 'Other', 'other', '' from organizations where name = 'Other'`);
await world.db.execute(sql`
    insert into boards (organization_id, gateway_id, name, slug, description)
    select ${home.organization_id}, ${home.gateway_id}, 'Own', 'own-' || n, '' from generate_series(1, ${OWN_BOARDS}::int) as n`);
await world.db.execute(sql`
    insert into agents (gateway_id, board_id, name, status, last_seen_at)
    select board.gateway_id, board.id, 'Agent ' || n, 'offline', now() - interval '1 hour'
    from boards as board, generate_series(1, ${AGENTS / BOARDS}::int) as n where board.slug = 'other'`);
await world.db.execute(sql`vacuum analyze agents, boards, organizations`);

/** Returns how many index entries of agents were read. */
async function readEntries(): Promise<number> {
  await world.db.execute(sql`select pg_stat_force_next_flush()`);
  const result = await world.db.execute(sql`
    select sum(idx_tup_read)::int as entries from pg_stat_user_indexes where relname = 'agents'`);
  return rowsOf<{ entries: number }>(result)[0]!.entries;
}

test("a dashboard does not read agents of other organizations", async () => {
  const before = await readEntries();
  for (let n = 0; n < DASHBOARDS; n++) expect((await readDashboard(world, home.owner, {})).status).toBe(200);
  expect((await readEntries()) - before).toBeLessThan(DASHBOARDS * 20);
});
