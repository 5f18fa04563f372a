import { sql } from "drizzle-orm";
import type { World } from "../world.ts";
import type { Household } from "./callers.ts";

/** Counts of posts and failures are of doors, not of organizations. */
const NOT_OWN = ["rate_counters"];
/** A sync repeats what it was asked for, whatever that named. */
const ASKED = "options";

/** Every row that belongs to an organization or speaks of something in it, each as one text. */
export async function fingerprintOf({ db }: World, { organization_id, pool }: Household): Promise<Set<string>> {
  const ids = [...new Set([organization_id, ...pool.all()])].filter((id) => /^[0-9a-f-]{36}$/.test(id));
  const { rows: tables } = (await db.execute(
    sql`select table_name as name from information_schema.tables where table_schema = 'public'`,
  )) as { rows: { name: string }[] };
  const rows = new Set<string>();
  for (const { name } of tables) {
    if (NOT_OWN.includes(name)) continue;
    const { rows: found } = (await db.execute(
      sql`select row from (select (to_jsonb(own) - ${ASKED})::text as row from ${sql.identifier(name)} as own) as rows where row ~ ${ids.join("|")}`,
    )) as { rows: { row: string }[] };
    for (const { row } of found) rows.add(`${name} ${row}`);
  }
  return rows;
}
