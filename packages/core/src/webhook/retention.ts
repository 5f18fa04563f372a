import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { RemovedBatch } from "../db/retention.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { toTimestamp } from "../db/timestamp.ts";
import type { JobKind } from "../job/kinds.ts";
import { board_webhook_payloads } from "../schema/webhook.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import { removePayloads } from "./payload-usage.ts";

/**
 * Removes the payloads that meet a condition. It retries, because it may have to wait for the removal of a board, which locks in
 * the opposite order.
 */
export const removeOldPayloads = (ctx: Context, condition: SQL, returning: SQL): Promise<RemovedBatch> =>
  withLockTimeoutRetry(ctx, (ctx) => removePayloads<RemovedBatch>(ctx, condition, returning));

/** Returns the condition for payloads that have no queued or running notification, including redeliveries. */
export async function isNotPending(ctx: Pick<Context, "db">, before: Date): Promise<SQL> {
  const kind: JobKind = "webhook.notify";
  const result = await ctx.db.execute(sql`
    select pending.id from ${jobs} as job
    join ${board_webhook_payloads} as pending on pending.id = (job.payload ->> 'payload_id')::uuid
    where job.status in ('queued', 'running') and job.kind = ${kind} and pending.received_at < ${toTimestamp(before)}`);
  const pending = rowsOf<{ id: string }>(result).map(({ id }) => id);
  return sql`id <> all(${sql.param(pending)}::uuid[])`;
}
