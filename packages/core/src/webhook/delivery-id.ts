import { and, eq, lte, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { type PreparedWrite, prepareRowInsert } from "../db/prepared-write.ts";
import { type RemovedBatch, removeInBatches } from "../db/remove-in-batches.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { WEBHOOK_DELIVERY_IDS_KEY, webhook_delivery_ids } from "../schema/webhook.sql.ts";

/** For how long a repeated delivery is recognized. */
const REMEMBERED_DAYS = 7;
const MAX_ATTEMPTS = 5;
const BATCH_SIZE = 5_000;

interface Delivery {
  webhook_id: string;
  delivery_id: string;
}
type MaybeNamed = Pick<Delivery, "webhook_id"> & { delivery_id: string | null };

/** Builds the insert that makes a repeated delivery violate the key of its table, for the statement that stores the payload. */
export const insertDeliveryId = (ctx: Context, delivery: Delivery & { payload_id: string }): PreparedWrite =>
  insertRow({ ...delivery, received_at: ctx.now() });

const insertRow = prepareRowInsert("delivery id", webhook_delivery_ids, [
  "webhook_id",
  "delivery_id",
  "payload_id",
  "received_at",
]);

/**
 * Runs `store`, which inserts the delivery's id with the payload. Returns null when it was stored, or the id of the payload that
 * an earlier delivery of this id stored. The index decides, so of concurrent repeats one is stored. Without an id all are.
 */
export async function storeOnce(
  ctx: Context,
  { webhook_id, delivery_id }: MaybeNamed,
  store: () => Promise<void>,
): Promise<string | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store();
      return null;
    } catch (error) {
      if (violatedUniqueIndex(error) !== WEBHOOK_DELIVERY_IDS_KEY || attempt === MAX_ATTEMPTS) throw error;
    }
    const payload_id = delivery_id === null ? null : await findEarlierPayload(ctx, { webhook_id, delivery_id });
    if (payload_id !== null) return payload_id;
  }
}

/** The payload of an earlier delivery. A forgotten id is removed, so that the next attempt can insert it. */
async function findEarlierPayload(ctx: Context, { webhook_id, delivery_id }: Delivery): Promise<string | null> {
  const where = and(eq(webhook_delivery_ids.webhook_id, webhook_id), eq(webhook_delivery_ids.delivery_id, delivery_id));
  const [earlier] = await ctx.db.select().from(webhook_delivery_ids).where(where);
  const oldest = oldestRemembered(ctx);
  if (earlier && earlier.received_at > oldest) return earlier.payload_id;
  await ctx.db.delete(webhook_delivery_ids).where(and(where, lte(webhook_delivery_ids.received_at, oldest)));
  return null;
}

const oldestRemembered = (ctx: Context) => addMs(ctx.now(), -REMEMBERED_DAYS * DAY_MS);

/** Removes the ids of deliveries whose repeats are not recognized any more. */
export async function removeOldDeliveryIds(ctx: Context): Promise<void> {
  const before = toTimestamp(oldestRemembered(ctx));
  await removeInBatches(BATCH_SIZE, async (size, from) => {
    const result = await ctx.db.execute(sql`
      with removed as (
        delete from ${webhook_delivery_ids} where ctid = any (array(
          select ctid from ${webhook_delivery_ids} where received_at >= ${from}::timestamptz and received_at < ${before}
          order by received_at limit ${size} for update skip locked))
        returning received_at)
      select count(*)::int as count, max(received_at)::text as last from removed`);
    return rowsOf<RemovedBatch>(result)[0]!;
  });
}
