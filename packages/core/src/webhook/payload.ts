import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { Agent, User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { RawJson } from "../values/json.ts";
import { jobs } from "../schema/job.sql.ts";
import { descending, idKey, type SortOrder, timeKey } from "../lists/keyset.ts";
import { truncatable } from "../lists/large-fields.ts";
import { type Page, pageQuery } from "../lists/page.ts";
import { SearchText } from "../lists/text-search.ts";
import { truncate, snippet } from "../values/text.ts";
import { Id, Instant, MAX_NAME, lazyObject } from "../values/wire.ts";
import { readBody, readListedBodies } from "../body-storage/body.ts";
import {
  Delivery,
  deliveryColumns,
  type DeliveryRow,
  DeliveryStatus,
  deliveryStatus,
  isNotifyJob,
  toDelivery,
} from "./delivery.ts";
import { shownHeaders } from "./headers.ts";
import { getWebhookRow } from "./webhook.ts";
import { board_webhook_payloads, payloadWords } from "../schema/webhook.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy } from "../lists/filter.ts";

const payloadColumns = {
  id: board_webhook_payloads.id,
  board_id: board_webhook_payloads.board_id,
  webhook_id: board_webhook_payloads.webhook_id,
  body: board_webhook_payloads.body,
  body_key: board_webhook_payloads.body_key,
  body_bytes: board_webhook_payloads.body_bytes,
  body_kind: board_webhook_payloads.body_kind,
  headers: board_webhook_payloads.headers,
  source_ip: board_webhook_payloads.source_ip,
  content_type: board_webhook_payloads.content_type,
  received_at: board_webhook_payloads.received_at,
  event_type: board_webhook_payloads.event_type,
  delivery_id: board_webhook_payloads.delivery_id,
  ...deliveryColumns,
};

type PayloadRow = Pick<typeof board_webhook_payloads.$inferSelect, Exclude<keyof typeof payloadColumns, keyof DeliveryRow>> &
  DeliveryRow;
/** A payload whose body has been read, from the database or from the body storage. */
type ReadRow = PayloadRow & { body: Uint8Array };

export const WebhookPayload = lazyObject(() => ({
  id: Id.describe("Id of the payload."),
  board_id: Id.describe("Board that received it."),
  webhook_id: Id.describe("Webhook that received it."),
  payload: z.unknown().describe("The body exactly as it was received: JSON, or a string for any other text."),
  headers: z
    .record(z.string(), z.string())
    .describe("Content-Type, User-Agent and X- headers, with names in lower case. Headers with credentials are left out."),
  source_ip: z.string().describe("IP address of the sender."),
  content_type: z.string().nullable().describe("Content-Type of the request."),
  received_at: Instant.describe("When it was received."),
  event_type: z.string().nullable().describe("The sender's name of the event, such as `issues.opened`; null if it has none."),
  delivery_id: z.string().nullable().describe("The sender's id of the delivery; a repeat within 7 days is not stored again."),
  delivery: Delivery.nullable().describe(
    "Whether the agent was notified; null for a payload from before deliveries were recorded.",
  ),
  ...truncatable,
})).meta({ id: "BoardWebhookPayload", description: "A request that a webhook accepted." });
export type WebhookPayload = z.infer<typeof WebhookPayload>;

export const ListedPayload = lazyObject(() => ({
  ...WebhookPayload.shape,
  payload_truncated: z.literal(true).optional().describe("Present when `payload` is only the beginning, as text."),
  payload_path: z.string().optional().describe("Path of the whole payload. Present when `payload` is truncated."),
})).meta({ id: "BoardWebhookPayloadListed", description: "A request that a webhook accepted, in a list." });
export type ListedPayload = z.infer<typeof ListedPayload>;

/**
 * How many times larger a body can become in an answer. In JSON, invalid bytes become U+FFFD; in text, control characters become
 * escapes.
 */
const GROWTH = { json: 3, text: 6 };
const PREVIEW_CHARS = 4_000;
const PREVIEW_BYTES = PREVIEW_CHARS * 4;

/** A received body and how to store it. */
export interface DecodedBody {
  kind: "json" | "text";
  /** The bytes to store. */
  body: Uint8Array;
  text: string;
  /** The parsed JSON; null for text. */
  value: unknown;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Classifies a body as JSON or text, and never fails (docs/reference/webhooks.md#decoding). The bytes are stored unchanged. */
export function decodeBody(bytes: Uint8Array, contentType: string | null): DecodedBody {
  if (bytes.length === 0) return { kind: "json", body: new TextEncoder().encode("{}"), text: "{}", value: {} };
  const media = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const text = utf8.decode(bytes);
  const claimsJson = media === "application/json" || media.endsWith("+json");
  const looksLikeJson = /^\s*(?:[{["]|(?:true|false)\s*$)/.test(text);
  const json = claimsJson || looksLikeJson ? parseJson(text) : null;
  return json ? { kind: "json", body: bytes, text, value: json.value } : { kind: "text", body: bytes, text, value: null };
}

function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

export const bodyText = (row: { body: Uint8Array }): string => utf8.decode(row.body);

export const PayloadsQuery = lazyObject(() => ({
  ...pageQuery().shape,
  event_type: z.string().max(MAX_NAME).optional().describe("Only payloads of events with this name."),
  delivery_status: DeliveryStatus.optional().describe("Only payloads with this delivery status."),
  q: SearchText,
}));
type PayloadsQuery = z.infer<typeof PayloadsQuery>;

const payloadOrder: SortOrder<{ received_at: Date; id: string }> = descending(
  timeKey(board_webhook_payloads.received_at, ({ received_at }) => received_at),
  idKey(board_webhook_payloads.id, ({ id }) => id),
);

/** Returns how many bytes of an answer each of `limit` payloads may use. */
const payloadBytes = ({ settings }: Context, limit: number) => Math.floor(settings.budgets.answer_max_bytes / limit);
const grownBytes = sql`coalesce(${board_webhook_payloads.body_bytes}, octet_length(${board_webhook_payloads.body}))
  * case when ${board_webhook_payloads.body_kind} = 'json' then ${sql.raw(String(GROWTH.json))} else ${sql.raw(String(GROWTH.text))} end`;
const is_truncated = sql<boolean>`(${grownBytes} > ${sql.placeholder("payload_bytes")}::int)`;
/** The body for a list. If it is too large, the database returns only its beginning. */
const listedBody = sql<Uint8Array | null>`case when ${is_truncated}
  then substring(${board_webhook_payloads.body} from 1 for ${sql.raw(String(PREVIEW_BYTES))}) else ${board_webhook_payloads.body} end`;

const payloadList = listOf({
  name: "payloads",
  table: board_webhook_payloads,
  joins: [{ table: jobs, on: isNotifyJob, optional: true }],
  columns: { ...payloadColumns, is_truncated, body: listedBody.mapWith(board_webhook_payloads.body) },
  order: payloadOrder,
  words: payloadWords(board_webhook_payloads),
});

/** Lists the payloads of a webhook, newest first. A payload that is too large for its part of the list is shown as a preview. */
export async function listPayloads(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  query: PayloadsQuery,
): Promise<Page<ListedPayload>> {
  const board = await boardFor(ctx, board_id, "read");
  const page = await payloadList.read(ctx, query, {
    owner: webhook_id,
    filters: [
      filterBy("webhook_id", webhook_id, (id) => eq(board_webhook_payloads.webhook_id, id)),
      filterBy("board_id", board.id, (id) => eq(board_webhook_payloads.board_id, id)),
      filterBy("event_type", query.event_type, (type) => eq(board_webhook_payloads.event_type, type)),
      filterBy("delivery_status", query.delivery_status, (status) => sql`${deliveryStatus} = ${status}`),
    ],
    values: { payload_bytes: payloadBytes(ctx, query.limit) },
    toItems: async (rows) =>
      (await readListedBodies(ctx, rows, PREVIEW_BYTES)).map(({ is_truncated, ...row }) =>
        is_truncated ? toPreview(row) : toPayload(row),
      ),
  });
  // A payload in the list proves that its webhook exists. So the webhook is looked up only if the list is empty.
  if (page.items.length === 0) await getWebhookRow(ctx, board, webhook_id);
  return page;
}

/** Converts a payload to a preview, which is always text, because truncated JSON cannot be parsed. */
const toPreview = (row: ReadRow): ListedPayload => ({
  ...toPayload({ ...row, body_kind: "text" }),
  payload: snippet(bodyText(row), PREVIEW_CHARS),
  payload_truncated: true,
  payload_path: `/api/v1/boards/${row.board_id}/webhooks/${row.webhook_id}/payloads/${row.id}`,
});

/** Returns one payload. If it is longer than `max_chars`, it is truncated and returned as text that ends with `...`. */
export async function getPayload(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  payload_id: string,
  max_chars?: number,
): Promise<WebhookPayload> {
  return toPayload(await readPayloadRow(ctx, board_id, webhook_id, payload_id), max_chars);
}

/** Returns a part of the posted text of a payload, and the length of the whole text in characters. */
export async function getPayloadText(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  payload_id: string,
  part: { offset: number; chars: number },
): Promise<{ text: string; total_chars: number; content_type: string | null; received_at: string }> {
  const row = await readPayloadRow(ctx, board_id, webhook_id, payload_id);
  const text = bodyText(row);
  const { content_type, received_at } = row;
  const shown = truncate(text.slice(part.offset), part.chars).toWellFormed();
  return { text: shown, total_chars: text.length, content_type, received_at: received_at.toISOString() };
}

async function readPayloadRow(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  payload_id: string,
): Promise<ReadRow> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db
    .select(payloadColumns)
    .from(board_webhook_payloads)
    .leftJoin(jobs, isNotifyJob)
    .where(
      and(
        eq(board_webhook_payloads.id, payload_id),
        eq(board_webhook_payloads.webhook_id, webhook_id),
        eq(board_webhook_payloads.board_id, board.id),
      ),
    );
  if (!row) throw notFound();
  return { ...row, body: await readBody(ctx, row) };
}

function toPayload(row: ReadRow, max_chars = Number.POSITIVE_INFINITY): WebhookPayload {
  const { id, board_id, webhook_id, source_ip, content_type, event_type, delivery_id } = row;
  return {
    id,
    board_id,
    webhook_id,
    payload: truncatedPayload(row, max_chars),
    headers: shownHeaders(row.headers),
    source_ip,
    content_type,
    received_at: row.received_at.toISOString(),
    event_type,
    delivery_id,
    delivery: toDelivery(row),
  };
}

const ELLIPSIS_CHARS = 3;

function truncatedPayload(row: ReadRow, max_chars: number): unknown {
  const text = bodyText(row);
  const full = row.body_kind === "json" ? new RawJson(text) : text;
  // A JSON string is measured as decoded text, other JSON as stored text.
  const measured = row.body_kind === "json" && /^\s*"/.test(text) ? (JSON.parse(text) as string) : text;
  if (measured.length <= max_chars) return full;
  return max_chars <= ELLIPSIS_CHARS ? truncate(measured, max_chars) : snippet(measured, max_chars - ELLIPSIS_CHARS);
}
