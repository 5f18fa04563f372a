import { and, eq, sql, type SQLWrapper } from "drizzle-orm";
import * as z from "zod";
import { agents } from "../agent/agent.sql.ts";
import { hostLane } from "../session-key.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { preparedQuery } from "../db/statement-cache.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError, notFound } from "../errors.ts";
import { insertJob } from "../job/job.ts";
import { insertMemoryEntry } from "../memory/memory.ts";
import { counterValue, startOfMinute, toCounterKey } from "../rate-limit.ts";
import { Id } from "../wire.ts";
import { readAdmitted, REFUSALS, refusalKey } from "./admission.ts";
import { memoryContent } from "./message.ts";
import { addPayloadBytes, requirePayloadRoom, storedPayloadBytes } from "./payload-usage.ts";
import { bodyText, decodeBody } from "./payload.ts";
import { DEFAULT_SIGNATURE_HEADERS } from "./signature.ts";
import { isTargetCandidate, targetFirst } from "./target.ts";
import { unsealSecret } from "./webhook.ts";
import { board_webhook_payloads, board_webhooks } from "./webhook.sql.ts";

/** A request to a webhook, before any check. */
export interface WebhookRequest {
  board_id: string;
  webhook_id: string;
  headers: Headers;
  source_ip: string;
  /** Reads the raw body; throws `too_large` when it has more bytes than allowed. */
  read(max_bytes: number): Promise<Uint8Array>;
}

export const WebhookAccepted = z
  .object({
    ok: z.literal(true).describe("The payload is stored."),
    board_id: Id.describe("Board that received it."),
    webhook_id: Id.describe("Webhook that received it."),
    payload_id: Id.describe("Id of the stored payload."),
  })
  .meta({ id: "BoardWebhookAccepted", description: "The payload is stored and its notification is on the way." });
export type WebhookAccepted = z.infer<typeof WebhookAccepted>;

/**
 * Accepts a request to a webhook; the order of the steps matters (docs/reference/webhooks.md#ingestion). Payload, memory
 * entry and notification job are written in one statement, so an accepted payload is never lost. All checks come first.
 */
export async function ingestWebhook(ctx: Context, request: WebhookRequest): Promise<WebhookAccepted> {
  const address = toCounterKey(request.source_ip);
  const webhook = await findOpenWebhook(ctx, request, address);
  const { board_id, id: webhook_id, description: instruction, organization_id, gateway_id } = webhook;
  const secret = unsealSecret(ctx, webhook);
  const bytes = await readAdmitted(ctx, { ...webhook, webhook_id, secret, address }, request);
  const content_type = request.headers.get("content-type");
  const { kind, body } = decodeBody(bytes, content_type);
  const payload_id = crypto.randomUUID();
  const headers = storedHeaders(request.headers, secret === null ? [] : signatureHeaders(webhook.signature_header));
  const size_bytes = body.byteLength + Buffer.byteLength(JSON.stringify(headers));
  const lane = webhook.session_key === null ? {} : { lane: hostLane(gateway_id, webhook.session_key) };
  await runBatch(ctx, [
    ctx.db.insert(board_webhook_payloads).values({
      id: payload_id,
      board_id,
      webhook_id,
      body,
      body_kind: kind,
      headers,
      size_bytes,
      source_ip: request.source_ip,
      content_type,
      received_at: ctx.now(),
    }),
    insertMemoryEntry(ctx, {
      board_id,
      content: memoryContent({ board_id, webhook_id, payload_id, instruction, text: bodyText({ body }) }),
      tags: ["webhook", `webhook:${webhook_id}`, `payload:${payload_id}`],
      source: "webhook",
    }),
    insertJob(ctx, "webhook.notify", { board_id, webhook_id, payload_id }, { organization_id, gateway_id, ...lane }),
    addPayloadBytes(ctx, organization_id, size_bytes),
  ]);
  ctx.log.info("webhook.accepted", "Webhook payload stored; notification job enqueued", { webhook_id, payload_id });
  return { ok: true, board_id, webhook_id, payload_id };
}

/** Finds the webhook if it is enabled, with its counts of refused posts, in one statement. */
async function findOpenWebhook(ctx: Context, request: WebhookRequest, address: string) {
  const board_id = Id.safeParse(request.board_id);
  const webhook_id = Id.safeParse(request.webhook_id);
  if (!board_id.success || !webhook_id.success) throw notFound();
  const [webhook] = await webhookWithTargetQuery(ctx.db).execute({
    webhook_id: webhook_id.data,
    board_id: board_id.data,
    refusal_key: refusalKey(webhook_id.data, address),
    minute: startOfMinute(ctx.now()).toISOString(),
  });
  if (!webhook) throw notFound();
  ctx.log.addFields({ organization_id: webhook.organization_id });
  if (!webhook.enabled) throw new DomainError("gone", "Webhook is disabled.");
  requirePayloadRoom(ctx, webhook.stored_bytes);
  return webhook;
}

/** Refused posts in this clock minute. Webhooks without a secret refuse none, so nothing is read for them. */
const refusalsOf = (key: SQLWrapper) =>
  sql<number>`case when ${board_webhooks.secret_sealed} is null then 0
    else ${counterValue(REFUSALS, key, sql.placeholder("minute"))} end`;

const webhookWithTargetQuery = preparedQuery((db) =>
  db
    .select({
      id: board_webhooks.id,
      board_id: board_webhooks.board_id,
      description: board_webhooks.description,
      enabled: board_webhooks.enabled,
      secret_sealed: board_webhooks.secret_sealed,
      signature_header: board_webhooks.signature_header,
      organization_id: boards.organization_id,
      gateway_id: boards.gateway_id,
      refused_here: refusalsOf(sql.placeholder("refusal_key")),
      refused_in_all: refusalsOf(sql`${board_webhooks.id}::text`),
      stored_bytes: storedPayloadBytes,
      session_key: sql<string | null>`(
        select ${agents.openclaw_session_id} from ${agents} where ${isTargetCandidate} order by ${targetFirst} limit 1)`,
    })
    .from(board_webhooks)
    .innerJoin(boards, eq(boards.id, board_webhooks.board_id))
    .where(and(eq(board_webhooks.id, sql.placeholder("webhook_id")), eq(board_webhooks.board_id, sql.placeholder("board_id")))),
);

/** Every header that may hold a signature. Some senders set several of them, and all are removed. */
const signatureHeaders = (configured: string | null) => [...DEFAULT_SIGNATURE_HEADERS, configured?.toLowerCase()];

/** Content-Type, User-Agent and all X- headers with names in lower case, without credentials. */
function storedHeaders(headers: Headers, dropped: readonly (string | undefined)[]): Record<string, string> {
  const kept: Record<string, string> = {};
  headers.forEach((value, name) => {
    const wanted = name === "content-type" || name === "user-agent" || name.startsWith("x-");
    if (wanted && name !== "x-agent-token" && !dropped.includes(name)) kept[name] = value;
  });
  return kept;
}
