import type { Db } from "@board/core/context/db";
import { rowsOf } from "@board/core/db/database";
import { isLockFailure } from "@board/core/db/query-error";
import { sql } from "drizzle-orm";

/** Waits until a statement in this database of a server waits for another transaction's lock. */
export async function waitForBlockedStatement(db: Db): Promise<void> {
  const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  while (rowsOf(await db.execute(waiting)).length === 0);
}

/**
 * Repeats a deadlock of a test and the service until PostgreSQL ends the service's transaction. PostgreSQL ends the transaction
 * that first finds the deadlock. On a slow machine that may be the test's, because the service checked before there was a deadlock.
 */
export async function untilServiceIsVictim<T>(makeDeadlock: (round: number) => Promise<T>): Promise<T> {
  for (let round = 1; ; round++)
    try {
      return await makeDeadlock(round);
    } catch (error) {
      if (!isLockFailure(error)) throw error;
    }
}
