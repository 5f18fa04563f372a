import { sql } from "drizzle-orm";
import type { World } from "../../support/world.ts";
import type { FuzzTenant } from "./callers.ts";

/** Rate counters do not belong to an organization. */
const SHARED_TABLES = ["rate_counters"];
/** This column is left out. It has the request of a sync run, which may name rows of another organization. */
const REQUEST_COLUMN = "options";

/** Returns every row that belongs to an organization or references it, each as text. */
export async function fingerprintOf({ db }: World, { organization_id, pool }: FuzzTenant): Promise<Set<string>> {
  const ids = [...new Set([organization_id, ...pool.all()])].filter((id) => /^[0-9a-f-]{36}$/.test(id));
  const { rows: tables } = (await db.execute(
    sql`select table_name as name from information_schema.tables where table_schema = 'public'`,
  )) as { rows: { name: string }[] };
  const rows = new Set<string>();
  for (const { name } of tables) {
    if (SHARED_TABLES.includes(name)) continue;
    const { rows: matches } = (await db.execute(
      sql`select row from (select (to_jsonb(own) - ${REQUEST_COLUMN})::text as row from ${sql.identifier(name)} as own) as rows where row ~ ${ids.join("|")}`,
    )) as { rows: { row: string }[] };
    for (const { row } of matches) rows.add(`${name} ${row}`);
  }
  return rows;
}
