import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { type RemovedBatch, removeInBatches } from "../db/remove-in-batches.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { jobs } from "../schema/job.sql.ts";
import { removeJobs } from "./remove.ts";

/** Days that a job is kept after its end. */
const RETENTION_DAYS = { done: 7, dead: 30 } as const;
const BATCH_SIZE = 5_000;

/** Removes done and dead jobs whose retention is over. */
export async function removeOldJobs(ctx: Context): Promise<void> {
  for (const status of ["done", "dead"] as const)
    await removeInBatches(BATCH_SIZE, (size, from) => removeBatch(ctx, status, size, from));
}

async function removeBatch(ctx: Context, status: keyof typeof RETENTION_DAYS, size: number, from: string): Promise<RemovedBatch> {
  const before = addMs(ctx.now(), -RETENTION_DAYS[status] * DAY_MS);
  return removeJobs<RemovedBatch>(
    ctx,
    sql`ctid = any (array(
      select ctid from ${jobs}
      where status = ${sql.raw(`'${status}'`)} and finished_at >= ${from}::timestamptz and finished_at < ${toTimestamp(before)}
      order by finished_at limit ${size} for update skip locked))`,
    sql`count(*)::int as count, max(finished_at)::text as last`,
  );
}
