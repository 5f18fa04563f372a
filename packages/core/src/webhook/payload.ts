import { and, desc, eq } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { RawJson } from "../json.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { cut, snippet } from "../text.ts";
import { Id, Instant } from "../wire.ts";
import { webhookRow } from "./webhook.ts";
import { board_webhook_payloads } from "./webhook.sql.ts";

type PayloadRow = typeof board_webhook_payloads.$inferSelect;

export const WebhookPayload = z
  .object({
    id: Id.describe("Id of the payload."),
    board_id: Id.describe("Board that received it."),
    webhook_id: Id.describe("Webhook that received it."),
    payload: z.unknown().describe("The body exactly as it came: JSON, or a string for any other text."),
    headers: z.record(z.string(), z.string()).describe("Content-Type, User-Agent and X- headers, in lower case."),
    source_ip: z.string().describe("Address of the sender."),
    content_type: z.string().nullable().describe("Content-Type of the post."),
    received_at: Instant.describe("When it came."),
  })
  .meta({ id: "BoardWebhookPayload", description: "A post that a webhook accepted." });
export type WebhookPayload = z.infer<typeof WebhookPayload>;

/** How a posted body is kept. */
export interface Decoded {
  kind: "json" | "text";
  /** The bytes to store. */
  body: Uint8Array;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decides whether a body is JSON or text; never fails (contract webhooks.md §3.1). The bytes stay as they came. */
export function decodeBody(bytes: Uint8Array, contentType: string | null): Decoded {
  if (bytes.length === 0) return { kind: "json", body: new TextEncoder().encode("{}") };
  const media = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const text = utf8.decode(bytes);
  const claimsJson = media === "application/json" || media.endsWith("+json");
  const looksLikeJson = /^\s*(?:[{["]|(?:true|false)\s*$)/.test(text);
  return { kind: (claimsJson || looksLikeJson) && parses(text) ? "json" : "text", body: bytes };
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const bodyText = (row: Pick<PayloadRow, "body">): string => utf8.decode(row.body);

/** The payloads of a webhook, latest first. */
export async function listPayloads(
  ctx: Context<User | Agent>,
  board_id: string,
  webhook_id: string,
  query: PageQuery,
): Promise<Page<WebhookPayload>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(eq(board_webhook_payloads.webhook_id, webhook_id), eq(board_webhook_payloads.board_id, board.id));
  const total = ctx.db.$count(board_webhook_payloads, where);
  const page = await readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: board_webhook_payloads, total })
        .from(board_webhook_payloads)
        .where(where)
        .orderBy(desc(board_webhook_payloads.received_at), desc(board_webhook_payloads.id))
        .limit(limit)
        .offset(offset),
    (row) => toPayload(row),
  );
  // A payload proves its webhook; only an empty list may be that of a webhook which is not there.
  if (page.total === 0) await webhookRow(ctx, board, webhook_id);
  return page;
}

/** One payload. With `max_chars` a longer one comes as text, cut and ended with `...`. */
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
  const payload = shownPayload(row, max_chars);
  return { id, board_id, webhook_id, payload, headers, source_ip, content_type, received_at: received_at.toISOString() };
}

const ELLIPSIS = 3;

function shownPayload(row: PayloadRow, max_chars: number): unknown {
  const text = bodyText(row);
  const whole = row.body_kind === "json" ? new RawJson(text) : text;
  // A JSON string is measured as the text it stands for, everything else as its stored JSON.
  const measured = row.body_kind === "json" && /^\s*"/.test(text) ? (JSON.parse(text) as string) : text;
  if (measured.length <= max_chars) return whole;
  return max_chars <= ELLIPSIS ? cut(measured, max_chars) : snippet(measured, max_chars - ELLIPSIS);
}
