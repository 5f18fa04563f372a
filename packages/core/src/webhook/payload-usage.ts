import { type SQL, sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { PreparedWrite } from "../db/prepared-write.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { webhook_body_orphans } from "../schema/webhook-body.sql.ts";
import { board_webhook_payloads, board_webhooks, webhook_payload_usage, webhook_usage } from "../schema/webhook.sql.ts";
import { SIGNED_SHARE } from "./payload-shares.ts";

/** Rows per counter, so that concurrent posts to one organization rarely wait for the same row. */
const SHARDS = 16;
const RECOUNT_DAYS = 7;

/** A column of a select over `boards`: the stored bytes of the organization. */
export const storedPayloadBytes = sql<string>`(
  select coalesce(sum(bytes), 0)::text from ${webhook_payload_usage} where organization_id = ${boards.organization_id})`;

/** A column of a select over `board_webhooks`: the stored bytes of the webhook. */
export const webhookPayloadBytes = sql<string>`(
  select coalesce(sum(bytes), 0)::text from ${webhook_usage} where webhook_id = ${board_webhooks.id})`;

/**
 * Builds the statements that add a payload's bytes to the counters of its organization and webhook. All writers lock the counters
 * in this order.
 */
export function addPayloadBytes({ organization_id, webhook_id, bytes }: NewBytes): PreparedWrite[] {
  const shard = Math.floor(Math.random() * SHARDS);
  return [
    {
      key: "payload bytes",
      build: (db, value) =>
        db
          .insert(webhook_payload_usage)
          .values({ organization_id: value("organization_id"), shard: value("shard"), bytes: value("bytes") })
          .onConflictDoUpdate({
            target: [webhook_payload_usage.organization_id, webhook_payload_usage.shard],
            set: { bytes: sql`${webhook_payload_usage}.bytes + excluded.bytes` },
          }),
      values: { organization_id, shard, bytes },
    },
    {
      key: "webhook bytes",
      build: (db, value) =>
        db
          .insert(webhook_usage)
          .values({ webhook_id: value("webhook_id"), shard: value("shard"), bytes: value("bytes") })
          .onConflictDoUpdate({
            target: [webhook_usage.webhook_id, webhook_usage.shard],
            set: { bytes: sql`${webhook_usage}.bytes + excluded.bytes` },
          }),
      values: { webhook_id, shard, bytes },
    },
  ];
}

interface NewBytes {
  organization_id: string;
  webhook_id: string;
  bytes: number;
}

/** The stored bytes of a payload. Payloads from earlier versions have no stored size, so their body is measured. */
export const payloadBytes = sql`coalesce(size_bytes, octet_length(body))`;

/**
 * Removes payloads and subtracts their bytes. A scheduled job later deletes their objects in the body storage. `returning` contains
 * the columns of the result, which are computed over the removed rows (`removed`).
 */
export async function removePayloads<Row>(ctx: Context, condition: SQL, returning: SQL): Promise<Row> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${board_webhook_payloads} where ${condition}
      returning id, board_id, webhook_id, received_at, body_key, ${payloadBytes} as bytes
    ), orphaned as (
      insert into ${webhook_body_orphans} (payload_id, body_key, due_at)
      select id, body_key, ${toTimestamp(ctx.now())} from removed where body_key is not null
      on conflict (payload_id) do update set due_at = excluded.due_at
    ), subtracted as (
      update ${webhook_payload_usage} as usage set bytes = usage.bytes - freed.bytes
      from (
        select organization_id, sum(bytes) as bytes,
          (select min(shard) from ${webhook_payload_usage} as shards where shards.organization_id = board.organization_id) as shard
        from removed join ${boards} as board on board.id = removed.board_id group by organization_id) as freed
      where usage.organization_id = freed.organization_id and usage.shard = freed.shard
    ), subtracted_from_webhooks as (
      update ${webhook_usage} as usage set bytes = usage.bytes - freed.bytes
      from (
        select webhook_id, sum(bytes) as bytes,
          (select min(shard) from ${webhook_usage} as shards where shards.webhook_id = removed.webhook_id) as shard
        from removed group by webhook_id) as freed
      where usage.webhook_id = freed.webhook_id and usage.shard = freed.shard
    )
    select ${returning} from removed`);
  return rowsOf<Row>(result)[0]!;
}

/** Removes the payloads of an organization that is being deleted. A cascade would not delete their objects in the body storage. */
export const removePayloadsOfOrganization = (ctx: Context, organization_id: string) =>
  removePayloads(ctx, sql`board_id in (select id from ${boards} where organization_id = ${organization_id})`, sql`count(*)`);

/**
 * Recounts the bytes of organizations and webhooks whose last count is old, because earlier versions of the service store
 * payloads without counting them. Organizations and webhooks that are full are recounted at each run, so that a wrong counter
 * does not cause refused posts for long.
 */
export async function recountPayloadBytes(ctx: Context): Promise<void> {
  const limit = ctx.settings.budgets.organization_payload_bytes;
  const counts = [
    {
      usage: webhook_payload_usage,
      owner: sql`organization_id`,
      full: limit,
      payloadsOf: (id: string) => sql`board_id in (select id from ${boards} where organization_id = ${id})`,
    },
    {
      usage: webhook_usage,
      owner: sql`webhook_id`,
      full: Math.floor(limit * SIGNED_SHARE),
      payloadsOf: (id: string) => sql`webhook_id = ${id}`,
    },
  ];
  const long_ago = toTimestamp(addMs(ctx.now(), -RECOUNT_DAYS * DAY_MS));
  for (const { usage, owner, full, payloadsOf } of counts) {
    const result = await ctx.db.execute(sql`
      select ${owner} as id from ${usage} group by ${owner}
      having coalesce(max(counted_at), '-infinity') < ${long_ago} or (${full}::bigint > 0 and sum(bytes) >= ${full}::bigint)`);
    for (const { id } of rowsOf<{ id: string }>(result)) await recount(ctx, usage, sql`${owner} = ${id}`, payloadsOf(id));
  }
}

type Usage = typeof webhook_payload_usage | typeof webhook_usage;

async function recount(ctx: Context, usage: Usage, mine: SQL, payloads: SQL): Promise<void> {
  await transaction(ctx, async (ctx) => {
    // This lock waits for posts that are being stored, because each post has locked a counter. The next statement sees their
    // payloads, and later posts wait until this transaction ends.
    await ctx.db.execute(sql`select 1 from ${usage} where ${mine} order by shard for update`);
    await ctx.db.execute(sql`
      with counted as (
        select coalesce(sum(${payloadBytes}), 0) as bytes from ${board_webhook_payloads} where ${payloads}
      )
      update ${usage} set counted_at = ${toTimestamp(ctx.now())},
        bytes = case when shard = (select min(shard) from ${usage} where ${mine}) then (select bytes from counted) else 0 end
      where ${mine}`);
  });
}
