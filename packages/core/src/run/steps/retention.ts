import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import type { RemovedBatch } from "../../db/retention.ts";
import { toTimestamp } from "../../db/timestamp.ts";
import { run_steps, runs } from "../../schema/run.sql.ts";

/** Removes old steps, and marks their runs as no longer having all of their steps. */
export async function removeOldSteps(ctx: Context, condition: SQL, returning: SQL): Promise<RemovedBatch> {
  const result = await ctx.db.execute(sql`
    with removed as (delete from ${run_steps} where ${condition} returning *),
    noted as (
      update ${runs} set steps_expired_at = ${toTimestamp(ctx.now())}
      where steps_expired_at is null and id in (select run_id from removed))
    select ${returning} from removed`);
  return rowsOf<RemovedBatch>(result)[0]!;
}
