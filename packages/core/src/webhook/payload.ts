import { and, desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { RawJson } from "../json.ts";
import { truncatable } from "../large-fields.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { truncate, snippet } from "../text.ts";
import { Id, Instant } from "../wire.ts";
import { getWebhookRow } from "./webhook.ts";
import { board_webhook_payloads } from "./webhook.sql.ts";

type PayloadRow = typeof board_webhook_payloads.$inferSelect;

export const WebhookPayload = z
  .object({
    id: Id.describe("Id of the payload."),
    board_id: Id.describe("Board that received it."),
    webhook_id: Id.describe("Webhook that received it."),
    payload: z.unknown().describe("The body exactly as it was received: JSON, or a string for any other text."),
    headers: z.record(z.string(), z.string()).describe("Content-Type, User-Agent and X- headers, in lower case."),
    source_ip: z.string().describe("IP address of the sender."),
    content_type: z.string().nullable().describe("Content-Type of the request."),
    received_at: Instant.describe("When it was received."),
    ...truncatable,
  })
  .meta({ id: "BoardWebhookPayload", description: "A request that a webhook accepted." });
export type WebhookPayload = z.infer<typeof WebhookPayload>;

export const ListedPayload = z
  .object({
    ...WebhookPayload.shape,
    payload_truncated: z.literal(true).optional().describe("Present when `payload` is only the beginning, as text."),
    payload_path: z.string().optional().describe("Path of the whole payload. Present when `payload` is truncated."),
  })
  .meta({ id: "BoardWebhookPayloadListed", description: "A request that a webhook accepted, in a list." });
export type ListedPayload = z.infer<typeof ListedPayload>;

/** How many times larger a body becomes at most: invalid bytes in JSON become U+FFFD, control characters in text escapes. */
const GROWTH = { json: 3, text: 6 };
const PREVIEW_CHARS = 4_000;
const MAX_BYTES_PER_CHAR = 4;

/** How a received body is stored. */
export interface DecodedBody {
  kind: "json" | "text";
  /** The bytes to store. */
  body: Uint8Array;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Classifies a body as JSON or text and never fails (docs/reference/webhooks.md#decoding). The bytes are stored unchanged. */
export function decodeBody(bytes: Uint8Array, contentType: string | null): DecodedBody {
  if (bytes.length === 0) return { kind: "json", body: new TextEncoder().encode("{}") };
  const media = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const text = utf8.decode(bytes);
  const claimsJson = media === "application/json" || media.endsWith("+json");
  const looksLikeJson = /^\s*(?:[{["]|(?:true|false)\s*$)/.test(text);
  return { kind: (claimsJson || looksLikeJson) && isValidJson(text) ? "json" : "text", body: bytes };
}

function isValidJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const bodyText = (row: Pick<PayloadRow, "body">): string => utf8.decode(row.body);

/** The payloads of a webhook, newest first. A payload that is larger than its part of the list is shown as a preview. */
export async function listPayloads(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  query: PageQuery,
): Promise<Page<ListedPayload>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(eq(board_webhook_payloads.webhook_id, webhook_id), eq(board_webhook_payloads.board_id, board.id));
  const total = ctx.db.$count(board_webhook_payloads, where);
  const page = await readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: { ...getTableColumns(board_webhook_payloads), ...listedBody(ctx, limit) }, total })
        .from(board_webhook_payloads)
        .where(where)
        .orderBy(desc(board_webhook_payloads.received_at), desc(board_webhook_payloads.id))
        .limit(limit)
        .offset(offset),
    ({ is_truncated, ...row }) => (is_truncated ? toPreview(row) : toPayload(row)),
  );
  // A payload proves that its webhook exists; only for an empty list it must be checked.
  if (page.total === 0) await getWebhookRow(ctx, board, webhook_id);
  return page;
}

/** The bodies of a list of so many payloads, of which each has an equal part of the answer. The database cuts larger ones. */
function listedBody({ settings }: Context, limit: number) {
  const { body, body_kind } = board_webhook_payloads;
  const growth = sql`case when ${body_kind} = 'json' then ${GROWTH.json}::int else ${GROWTH.text}::int end`;
  const is_truncated = sql<boolean>`octet_length(${body}) * ${growth} > ${Math.floor(settings.budgets.answer_max_bytes / limit)}::int`;
  const preview = sql`substring(${body} from 1 for ${PREVIEW_CHARS * MAX_BYTES_PER_CHAR}::int)`;
  return { is_truncated, body: sql<Uint8Array>`case when ${is_truncated} then ${preview} else ${body} end`.mapWith(body) };
}

/** The beginning of a body is a text: cut JSON cannot be parsed. */
const toPreview = (row: PayloadRow): ListedPayload => ({
  ...toPayload({ ...row, body_kind: "text" }),
  payload: snippet(bodyText(row), PREVIEW_CHARS),
  payload_truncated: true,
  payload_path: `/api/v1/boards/${row.board_id}/webhooks/${row.webhook_id}/payloads/${row.id}`,
});

/** One payload. A payload longer than `max_chars` is returned as text, truncated and with `...` at its end. */
export async function getPayload(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  payload_id: string,
  max_chars?: number,
): Promise<WebhookPayload> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db
    .select()
    .from(board_webhook_payloads)
    .where(
      and(
        eq(board_webhook_payloads.id, payload_id),
        eq(board_webhook_payloads.webhook_id, webhook_id),
        eq(board_webhook_payloads.board_id, board.id),
      ),
    );
  if (!row) throw notFound();
  return toPayload(row, max_chars);
}

function toPayload(row: PayloadRow, max_chars = Number.POSITIVE_INFINITY): WebhookPayload {
  const { id, board_id, webhook_id, headers, source_ip, content_type, received_at } = row;
  const payload = truncatedPayload(row, max_chars);
  return { id, board_id, webhook_id, payload, headers, source_ip, content_type, received_at: received_at.toISOString() };
}

const ELLIPSIS_CHARS = 3;

function truncatedPayload(row: PayloadRow, max_chars: number): unknown {
  const text = bodyText(row);
  const full = row.body_kind === "json" ? new RawJson(text) : text;
  // A JSON string is measured by its decoded text, everything else by its stored JSON.
  const measured = row.body_kind === "json" && /^\s*"/.test(text) ? (JSON.parse(text) as string) : text;
  if (measured.length <= max_chars) return full;
  return max_chars <= ELLIPSIS_CHARS ? truncate(measured, max_chars) : snippet(measured, max_chars - ELLIPSIS_CHARS);
}
