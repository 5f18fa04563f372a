import { type SQL, sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { PreparedWrite } from "../db/prepared-write.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { DomainError } from "../values/errors.ts";
import { usedUp } from "../values/request-limits.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { webhook_body_orphans } from "../schema/webhook-body.sql.ts";
import { board_webhook_payloads, webhook_payload_usage } from "../schema/webhook.sql.ts";

/** Posts of one organization that are stored at the same time rarely add to the same row. */
const SHARDS = 16;
const RECOUNT_DAYS = 7;
/** Seconds. Old payloads are removed once an hour. */
const RETRY_AFTER = 3_600;

/** The stored bytes of an organization, as a column of a query on boards. */
export const storedPayloadBytes = sql<string>`(
  select coalesce(sum(bytes), 0)::text from ${webhook_payload_usage} where organization_id = ${boards.organization_id})`;

/** Throws when an organization has no room for another payload. */
export function requirePayloadRoom(ctx: Context, stored_bytes: string): void {
  const limit = ctx.settings.budgets.organization_payload_bytes;
  if (limit === 0 || Number(stored_bytes) < limit) return;
  throw new DomainError(
    "limited",
    "The organization has no room for more webhook payloads. Remove webhooks or wait until old payloads expire.",
    {
      retry_after_seconds: RETRY_AFTER,
      limit: usedUp("organization_payload_bytes", limit, RETRY_AFTER, "content-bytes"),
    },
  );
}

/** Builds the statement that adds a payload to the bytes of its organization. */
export const addPayloadBytes = (organization_id: string, bytes: number): PreparedWrite => ({
  key: "payload bytes",
  build: (db, value) =>
    db
      .insert(webhook_payload_usage)
      .values({ organization_id: value("organization_id"), shard: value("shard"), bytes: value("bytes") })
      .onConflictDoUpdate({
        target: [webhook_payload_usage.organization_id, webhook_payload_usage.shard],
        set: { bytes: sql`${webhook_payload_usage}.bytes + excluded.bytes` },
      }),
  values: { organization_id, shard: Math.floor(Math.random() * SHARDS), bytes },
});

/** The bytes of a payload, also of one from before they were stored with it. */
export const payloadBytes = sql`coalesce(size_bytes, octet_length(body))`;

/**
 * Removes the payloads that meet a condition, subtracts their bytes, and leaves their objects in the body storage to a schedule.
 * `returning` are columns of what it returns, computed from the rows `removed`.
 */
export async function removePayloads<Row>(ctx: Context, condition: SQL, returning: SQL): Promise<Row> {
  const result = await ctx.db.execute(sql`
    with removed as (
      delete from ${board_webhook_payloads} where ${condition}
      returning id, board_id, received_at, body_key, ${payloadBytes} as bytes
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
    )
    select ${returning} from removed`);
  return rowsOf<Row>(result)[0]!;
}

/** Removes the payloads of an organization that is being deleted. A cascade would forget their objects. */
export const removePayloadsOfOrganization = (ctx: Context, organization_id: string) =>
  removePayloads(ctx, sql`board_id in (select id from ${boards} where organization_id = ${organization_id})`, sql`count(*)`);

/**
 * Counts the bytes of organizations from their payloads: of those that were not counted for long, since code of an earlier
 * version does not count, and of those that are over their budget, so that no error of the count refuses posts for long.
 */
export async function recountPayloadBytes(ctx: Context): Promise<void> {
  const limit = ctx.settings.budgets.organization_payload_bytes;
  const long_ago = toTimestamp(addMs(ctx.now(), -RECOUNT_DAYS * DAY_MS));
  const result = await ctx.db.execute(sql`
    select organization_id from ${webhook_payload_usage} group by organization_id
    having coalesce(max(counted_at), '-infinity') < ${long_ago} or (${limit}::bigint > 0 and sum(bytes) >= ${limit}::bigint)`);
  for (const { organization_id } of rowsOf<{ organization_id: string }>(result)) await recount(ctx, organization_id);
}

async function recount(ctx: Context, organization_id: string): Promise<void> {
  await transaction(ctx, async (ctx) => {
    const mine = sql`organization_id = ${organization_id}`;
    // Posts that are being stored have locked a row. The next statement sees them, and later ones wait for it.
    await ctx.db.execute(sql`select 1 from ${webhook_payload_usage} where ${mine} order by shard for update`);
    await ctx.db.execute(sql`
      with counted as (
        select coalesce(sum(${payloadBytes}), 0) as bytes from ${board_webhook_payloads}
        where board_id in (select id from ${boards} where ${mine})
      )
      update ${webhook_payload_usage} set counted_at = ${toTimestamp(ctx.now())},
        bytes = case when shard = (select min(shard) from ${webhook_payload_usage} where ${mine}) then (select bytes from counted) else 0 end
      where ${mine}`);
  });
}
