import { sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs } from "../values/time.ts";
import { webhook_body_turns } from "../schema/webhook-body.sql.ts";
import { board_webhook_payloads, board_webhooks } from "../schema/webhook.sql.ts";

/** How many organizations have a batch at the same time. */
const ORGANIZATIONS = 20;
/** How many payloads of an organization one batch examines, including payloads that are too small to move. */
const BATCH_SIZE = 50;
/** How long a batch is reserved for its run. This is longer than any run, because Lambda ends a run after two minutes. */
const LEASE_MS = 600_000;

/** The next payloads of an organization, oldest first. */
export interface MoveBatch {
  organization_id: string;
  payloads: BatchPayload[];
}
export interface BatchPayload {
  id: string;
  received_at: string;
  /** The length of the body; null if the body has already been moved. */
  bytes: number | null;
}

/**
 * Adds organizations that have a webhook but no row in `webhook_body_turns` yet. They get their first batch in the run that began
 * at `start`.
 */
export async function addOrganizations(ctx: Context, start: Date): Promise<void> {
  const now = toTimestamp(start);
  await ctx.db.execute(sql`
    insert into ${webhook_body_turns} (organization_id, turn_at, next_at)
    select distinct organization_id, ${now}, ${now} from ${board_webhooks} join ${boards} on ${boards.id} = ${board_webhooks.board_id}
    where not exists (select from ${webhook_body_turns} as batch where batch.organization_id = ${boards.organization_id})
    on conflict do nothing`);
}

/**
 * Claims the next batch of payloads received before a time, for each of the organizations that have waited longest. Returns an
 * empty list if no organization is due in the run that began at `start`. An organization gets another batch only after all other
 * organizations have got one.
 */
export async function claimBatches(ctx: Context, start: Date, before: Date): Promise<MoveBatch[]> {
  const now = ctx.now();
  const begun = rowsOf<{ organization_id: string }>(
    await ctx.db.execute(sql`
      update ${webhook_body_turns} set turn_at = ${toTimestamp(now)}, next_at = ${toTimestamp(addMs(now, LEASE_MS))}
      where organization_id = any (array(
        select organization_id from ${webhook_body_turns} where next_at <= ${toTimestamp(start)}
        order by turn_at limit ${ORGANIZATIONS} for update skip locked))
      returning organization_id`),
  ).map(({ organization_id }) => organization_id);
  const found = rowsOf<BatchPayload & { organization_id: string }>(
    await ctx.db.execute(sql`
      select batch.organization_id, old.id, old.received_at::text as received_at, old.bytes
      from ${webhook_body_turns} as batch cross join lateral (
        select payload.* from ${boards} as board join ${board_webhooks} as webhook on webhook.board_id = board.id
        cross join lateral (
          select id, received_at, octet_length(body) as bytes from ${board_webhook_payloads}
          where webhook_id = webhook.id and received_at < ${toTimestamp(before)}
            and (received_at, id) > (
              coalesce(batch.moved_until, '-infinity'), coalesce(batch.moved_id, '00000000-0000-0000-0000-000000000000'))
          order by received_at, id limit ${BATCH_SIZE}) as payload
        where board.organization_id = batch.organization_id
        order by payload.received_at, payload.id limit ${BATCH_SIZE}) as old
      where batch.organization_id = any(${sql.param(begun)}::uuid[])
      order by old.received_at, old.id`),
  );
  return begun.map((organization_id) => ({
    organization_id,
    payloads: found.filter((payload) => payload.organization_id === organization_id),
  }));
}

/**
 * Ends a batch whose payloads up to `last` are done. If `last` is null, no payload is done. The organization gets another batch
 * in this run if it may have more payloads.
 */
export async function finishBatch(
  ctx: Context,
  { organization_id, payloads }: MoveBatch,
  { last, start }: { last: BatchPayload | null; start: Date },
): Promise<void> {
  const hasMore = payloads.length === BATCH_SIZE && last === payloads.at(-1);
  const next = hasMore ? start : addMs(start, 1);
  const progress = last ? sql`, moved_until = ${last.received_at}::timestamptz, moved_id = ${last.id}::uuid` : sql``;
  await ctx.db.execute(sql`
    update ${webhook_body_turns} set next_at = ${toTimestamp(next)}${progress} where organization_id = ${organization_id}`);
}
