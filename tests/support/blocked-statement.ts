import type { Db } from "@board/core/context/db";
import { rowsOf } from "@board/core/db/database";
import { sql } from "drizzle-orm";

/** Waits until a statement in this database of a server waits for another transaction's lock. */
export async function waitForBlockedStatement(db: Db): Promise<void> {
  const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  while (rowsOf(await db.execute(waiting)).length === 0);
}
