import { sql } from "drizzle-orm";
import { type BodyStorage, BodyStorageError } from "../context/body-storage.ts";
import { forEachConcurrent } from "../values/concurrency.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, HOUR_MS } from "../values/time.ts";
import { webhook_body_orphans } from "../schema/webhook-body.sql.ts";
import { run_steps } from "../schema/run.sql.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";

const BATCH_SIZE = 200;
const MAX_CONCURRENT = 8;
const MAX_RUN_MS = 20_000;

/**
 * An object to check now. `has_body_key` is true if a payload or run step refers to an object, false if the payload exists without
 * referring to one, and null if neither exists.
 */
interface DueOrphan {
  payload_id: string;
  body_key: string;
  has_body_key: boolean | null;
}

/**
 * Deletes objects of removed payloads and run steps. An object is kept if its payload exists without referring to it, because a
 * move may be about to store the reference. The next move overwrites such an object, or the object is deleted after its payload.
 */
export async function removeOrphanedBodies(ctx: Context, storage: BodyStorage): Promise<void> {
  const start = performance.now();
  let failure: unknown = null;
  const shouldStop = () => failure !== null || performance.now() - start > MAX_RUN_MS;
  while (!shouldStop()) {
    // Other runs skip these objects for an hour, which is long enough to delete them. A move that writes an object again changes
    // `due_at` of its record, so the record is kept.
    const claim = addMs(ctx.now(), HOUR_MS);
    const due = await claimDue(ctx, claim);
    const finished: string[] = due.filter(({ has_body_key }) => has_body_key === true).map(({ payload_id }) => payload_id);
    const removed = due.filter(({ has_body_key }) => has_body_key === null);
    await forEachConcurrent(removed, { max_concurrent: MAX_CONCURRENT, shouldStop }, async ({ payload_id, body_key }) => {
      try {
        await storage.delete(body_key);
        finished.push(payload_id);
      } catch (error) {
        failure = error;
      }
    });
    await ctx.db.execute(sql`
      delete from ${webhook_body_orphans}
      where payload_id = any(${sql.param(finished)}::uuid[]) and due_at = ${toTimestamp(claim)}`);
    if (due.length < BATCH_SIZE) break;
  }
  if (failure instanceof BodyStorageError) ctx.log.warn("webhook.bodies_not_deleted", failure.message);
  else if (failure !== null) throw failure;
}

async function claimDue(ctx: Context, claim: Date): Promise<DueOrphan[]> {
  const result = await ctx.db.execute(sql`
    update ${webhook_body_orphans} as orphan set due_at = ${toTimestamp(claim)}
    where payload_id = any (array(
      select payload_id from ${webhook_body_orphans} where due_at <= ${toTimestamp(ctx.now())}
      order by due_at limit ${BATCH_SIZE} for update skip locked))
    returning payload_id, body_key,
      coalesce(
        (select payload.body_key is not null from ${board_webhook_payloads} as payload where payload.id = orphan.payload_id),
        (select true from ${run_steps} as steps where steps.body_key = orphan.body_key)) as has_body_key`);
  return rowsOf<DueOrphan>(result);
}
