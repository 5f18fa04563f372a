import { createHash } from "node:crypto";
import { and, eq, inArray, lte } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { type PreparedWrite, prepareRowInsert } from "../db/prepared-write.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { type SourceName, WEBHOOK_DELIVERY_IDS_KEY, webhook_delivery_ids } from "../schema/webhook.sql.ts";
import { SOURCES } from "./source/sources.ts";

/** How long a repeated delivery is recognized. */
export const REMEMBERED_DAYS = 7;
const MAX_ATTEMPTS = 5;

/** The names by which a repeated delivery is recognized: the sender's id of the delivery, or a digest of the body. */
export interface DeliveryNames {
  webhook_id: string;
  /** The names to store with the payload. A delivery with one of these names is a repeat. */
  stored: readonly string[];
  /** A name that is only looked up: if an earlier delivery has stored it, this delivery is a repeat. */
  looked_up: string | null;
}

interface Post {
  webhook_id: string;
  source: SourceName;
  is_signed: boolean;
  body: Uint8Array;
  delivery_id: string | null;
}

/**
 * Returns the names of a delivery. If the signature covers only the body, the body counts as a name too, because an attacker can
 * change the id of a captured post. A generic post without an id is a repeat only if a post with the same body came with an id.
 */
export function deliveryNames({ webhook_id, source, is_signed, body, delivery_id }: Post): DeliveryNames {
  const ids = delivery_id === null ? [] : [delivery_id];
  if (!is_signed || !SOURCES[source].signs_body_only) return { webhook_id, stored: ids, looked_up: null };
  // The space distinguishes the name from the ids of senders, which never begin with a space.
  const signed = ` ${createHash("sha256").update(body).digest("base64")}`;
  if (source === "generic" && delivery_id === null) return { webhook_id, stored: [], looked_up: signed };
  return { webhook_id, stored: [...ids, signed], looked_up: null };
}

/**
 * Builds the inserts of the names, for the statement that stores the payload. For a repeated delivery, they violate the primary
 * key.
 */
export const insertDeliveryNames = (ctx: Context, { webhook_id, stored }: DeliveryNames, payload_id: string): PreparedWrite[] =>
  stored.map((delivery_id) => insertRow({ webhook_id, delivery_id, payload_id, received_at: ctx.now() }));

const insertRow = prepareRowInsert("delivery id", webhook_delivery_ids, [
  "webhook_id",
  "delivery_id",
  "payload_id",
  "received_at",
]);

/**
 * Runs `store`, which inserts the names together with the payload. Returns null if the payload was stored, otherwise the id of the
 * payload of the earlier delivery. A unique index lets only one of several concurrent repeats be stored.
 */
export async function storeOnce(ctx: Context, names: DeliveryNames, store: () => Promise<void>): Promise<string | null> {
  const { webhook_id, stored, looked_up } = names;
  if (looked_up !== null) {
    const payload_id = await findEarlierPayload(ctx, webhook_id, [looked_up]);
    if (payload_id !== null) return payload_id;
  }
  for (let attempt = 1; ; attempt++) {
    try {
      await store();
      return null;
    } catch (error) {
      if (violatedUniqueIndex(error) !== WEBHOOK_DELIVERY_IDS_KEY || attempt === MAX_ATTEMPTS) throw error;
    }
    const payload_id = await findEarlierPayload(ctx, webhook_id, stored);
    if (payload_id !== null) return payload_id;
  }
}

/**
 * Finds the payload of an earlier delivery, or returns null. Expired names are deleted, so that the next attempt can insert them.
 */
async function findEarlierPayload(ctx: Context, webhook_id: string, names: readonly string[]): Promise<string | null> {
  const where = and(eq(webhook_delivery_ids.webhook_id, webhook_id), inArray(webhook_delivery_ids.delivery_id, [...names]));
  const found = await ctx.db.select().from(webhook_delivery_ids).where(where);
  const oldest = oldestRemembered(ctx);
  const known = found.filter(({ received_at }) => received_at > oldest);
  const earlier = known.find(({ delivery_id }) => delivery_id === names[0]) ?? known[0];
  if (earlier) return earlier.payload_id;
  if (found.length > 0)
    await ctx.db.delete(webhook_delivery_ids).where(and(where, lte(webhook_delivery_ids.received_at, oldest)));
  return null;
}

const oldestRemembered = (ctx: Context) => addMs(ctx.now(), -REMEMBERED_DAYS * DAY_MS);
