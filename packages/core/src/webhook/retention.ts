import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { type RemovedBatch, removeInBatches } from "../db/remove-in-batches.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { jobs } from "../schema/job.sql.ts";
import type { JobKind } from "../job/kinds.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { removeOldDeliveryIds } from "./delivery-id.ts";
import { recountPayloadBytes, removePayloads } from "./payload-usage.ts";
import { eraseOldSecrets } from "./secret.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";

/** Small, because a payload can have megabytes. */
const BATCH_SIZE = 200;

/**
 * Removes payloads after their retention, except those whose notification is still to be sent. It also removes expired delivery
 * ids and previous secrets, and recounts bytes.
 */
export async function removeOldPayloads(ctx: Context): Promise<void> {
  await eraseOldSecrets(ctx);
  await removeOldDeliveryIds(ctx);
  const days = ctx.settings.webhook_payload_retention_days;
  if (days > 0) await removeBefore(ctx, addMs(ctx.now(), -days * DAY_MS));
  await recountPayloadBytes(ctx);
}

async function removeBefore(ctx: Context, time: Date): Promise<void> {
  const before = toTimestamp(time);
  const pending = await listPending(ctx, time);
  await removeInBatches(BATCH_SIZE, (size, from) =>
    withLockTimeoutRetry(ctx, (ctx) =>
      removePayloads<RemovedBatch>(
        ctx,
        sql`ctid = any (array(
          select ctid from ${board_webhook_payloads}
          where received_at >= ${from}::timestamptz and received_at < ${before} and id <> all(${sql.param(pending)}::uuid[])
          order by received_at limit ${size} for update skip locked))`,
        sql`count(*)::int as count, max(received_at)::text as last`,
      ),
    ),
  );
}

/** The payloads with a queued or running notification, which may be a redelivery. */
async function listPending(ctx: Context, before: Date): Promise<string[]> {
  const kind: JobKind = "webhook.notify";
  const result = await ctx.db.execute(sql`
    select pending.id from ${jobs} as job
    join ${board_webhook_payloads} as pending on pending.id = (job.payload ->> 'payload_id')::uuid
    where job.status in ('queued', 'running') and job.kind = ${kind} and pending.received_at < ${toTimestamp(before)}`);
  return rowsOf<{ id: string }>(result).map(({ id }) => id);
}
