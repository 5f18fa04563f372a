import { and, eq, sql, type SQLWrapper } from "drizzle-orm";
import * as z from "zod";
import { agents } from "../schema/agent.sql.ts";
import { hostLane } from "../values/session-key.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { insertInboxMessages } from "../notification/inbox-message.ts";
import { messageKind } from "../notification/message-kind.ts";
import { insertJob } from "../job/job.ts";
import { insertMemoryEntry } from "../memory/memory.ts";
import { counterValue, startOfMinute, toCounterKey } from "../db/rate-limit.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { readAdmitted, REFUSALS, refusalKey } from "./admission.ts";
import { type DeliveryNames, deliveryNames, insertDeliveryNames, storeOnce } from "./delivery-id.ts";
import { matchesEventTypes, readableText, readEvent, type WebhookEvent } from "./event.ts";
import { storedHeaders } from "./headers.ts";
import { memoryContent, notificationText, type PayloadFacts } from "./message.ts";
import { makePayloadRoom, requirePayloadRoom } from "./payload-room.ts";
import { addPayloadBytes, storedPayloadBytes, webhookPayloadBytes } from "./payload-usage.ts";
import { type DecodedBody, decodeBody } from "./payload.ts";
import { toSearchWords } from "../lists/search-words.ts";
import { toSearchText } from "./search-text.ts";
import { validSecrets } from "../db/rotated-secret.ts";
import { isTargetCandidate, targetFirst } from "./target.ts";
import { board_webhook_payloads, board_webhooks } from "../schema/webhook.sql.ts";
import { prepareRowInsert } from "../db/prepared-write.ts";

/** A request to a webhook, before any check. */
interface WebhookRequest {
  board_id: string;
  webhook_id: string;
  headers: Headers;
  source_ip: string;
  /** Reads the raw body. Throws `too_large` if the body is longer. */
  read(max_bytes: number): Promise<Uint8Array>;
}

export const WebhookAccepted = lazyObject(() => ({
  ok: z.literal(true).describe("The payload is stored."),
  board_id: Id.describe("Board that received it."),
  webhook_id: Id.describe("Webhook that received it."),
  payload_id: Id.describe("Id of the stored payload."),
})).meta({ id: "BoardWebhookAccepted", description: "The payload is stored and its notification is on the way." });
export type WebhookAccepted = z.infer<typeof WebhookAccepted>;

export const WebhookChallenge = lazyObject(() => ({
  challenge: z.string().describe("The challenge of the request, returned so that the sender can verify the address."),
})).meta({ id: "BoardWebhookChallenge", description: "The answer to a request with which a sender only verifies the address." });
export type WebhookChallenge = z.infer<typeof WebhookChallenge>;

/** The answer to a post: a payload that was stored now or by an earlier delivery, or the response to a challenge. */
type IngestResult = { accepted: WebhookAccepted; is_repeat: boolean } | WebhookChallenge;

/**
 * Accepts a request to a webhook. The order of the steps matters (docs/reference/webhooks.md#ingestion). After all checks, one
 * batch writes the payload, its memory entry and its notification job, so an accepted payload is never lost.
 */
export async function ingestWebhook(ctx: Context, request: WebhookRequest): Promise<IngestResult> {
  const address = toCounterKey(request.source_ip);
  const webhook = await findOpenWebhook(ctx, request, address);
  const { board_id, id: webhook_id } = webhook;
  const secrets = validSecrets(ctx, webhook);
  const bytes = await readAdmitted(ctx, { ...webhook, webhook_id, secrets, address }, request);
  const received = decodeBody(bytes, request.headers.get("content-type"));
  const { challenge, ...event } = readEvent(webhook.source, request.headers, received);
  if (challenge !== null) return { challenge };
  const payload_id = crypto.randomUUID();
  const { source } = webhook;
  const names = deliveryNames({ webhook_id, source, is_signed: secrets.length > 0, body: bytes, ...event });
  const store = () => storePayload(ctx, request, webhook, { id: payload_id, names, ...received, ...event });
  const earlier_id = await storeOnce(ctx, names, store);
  if (earlier_id !== null) {
    ctx.log.info("webhook.repeated", "Webhook delivery was stored before", { webhook_id, payload_id: earlier_id });
    return { accepted: { ok: true, board_id, webhook_id, payload_id: earlier_id }, is_repeat: true };
  }
  ctx.log.info("webhook.accepted", "Webhook payload stored; notification job enqueued", { webhook_id, payload_id });
  return { accepted: { ok: true, board_id, webhook_id, payload_id }, is_repeat: false };
}

type OpenWebhook = Awaited<ReturnType<typeof findOpenWebhook>>;
type NewDelivery = Pick<typeof board_webhook_payloads.$inferSelect, "notify_job_id" | "delivery">;
type NewPayload = DecodedBody & Omit<WebhookEvent, "challenge"> & { id: string; names: DeliveryNames };

/**
 * Makes room for a payload and writes it in one batch with its memory entry and job. For a filtered payload there is no memory
 * entry and no job.
 */
async function storePayload(ctx: Context, request: WebhookRequest, webhook: OpenWebhook, payload: NewPayload): Promise<void> {
  const { board_id, id: webhook_id, organization_id } = webhook;
  const { id: payload_id, kind, body, text, value, event_type, delivery_id, summary } = payload;
  const content_type = request.headers.get("content-type");
  const headers = storedHeaders(request.headers, webhook);
  const size_bytes = body.byteLength + Buffer.byteLength(JSON.stringify(headers));
  await makePayloadRoom(ctx, webhook, size_bytes);
  const filtered = !matchesEventTypes(webhook.event_types, event_type);
  const received_at = ctx.now();
  const delivery = newDelivery(received_at, webhook, filtered);
  const shown = { payload_id, summary, text: readableText(webhook.source, content_type, text) };
  await runBatch(ctx, [
    ...insertDeliveryNames(ctx, payload.names, payload_id),
    insertPayload({
      id: payload_id,
      board_id,
      webhook_id,
      body,
      body_kind: kind,
      headers,
      size_bytes,
      source_ip: request.source_ip,
      content_type,
      received_at,
      event_type,
      delivery_id,
      summary,
      words: toSearchWords(event_type, summary, toSearchText(kind, shown.text, value)),
      filtered,
      ...delivery,
    }),
    ...(filtered ? [] : [insertMemory(webhook, shown), ...insertNotification(ctx, webhook, shown, delivery)]),
    ...addPayloadBytes({ organization_id, webhook_id, bytes: size_bytes }),
  ]);
}

const insertPayload = prepareRowInsert("payload", board_webhook_payloads, [
  "id",
  "board_id",
  "webhook_id",
  "body",
  "body_kind",
  "headers",
  "size_bytes",
  "source_ip",
  "content_type",
  "received_at",
  "event_type",
  "delivery_id",
  "summary",
  "words",
  "filtered",
  "notify_job_id",
  "delivery",
]);

type ShownPayload = Pick<PayloadFacts, "payload_id" | "summary" | "text">;

function insertMemory({ board_id, id: webhook_id, description: instruction }: OpenWebhook, shown: ShownPayload) {
  const content = memoryContent({ board_id, webhook_id, instruction, ...shown });
  return insertMemoryEntry({
    board_id,
    content,
    words: toSearchWords(content),
    tags: ["webhook", `webhook:${webhook_id}`, `payload:${shown.payload_id}`],
    source: "webhook",
    author_type: "system",
  });
}

/** Returns how to record the delivery: with the id of its job, or as done if the same batch puts the message into an inbox. */
function newDelivery(received_at: Date, webhook: OpenWebhook, filtered: boolean): NewDelivery {
  if (filtered) return { notify_job_id: null, delivery: null };
  if (webhook.gateway_kind !== "pull") return { notify_job_id: crypto.randomUUID(), delivery: null };
  const agent_id = webhook.inbox_agent_id;
  const reached = agent_id !== null;
  const [status, delivered_at] = reached ? (["delivered", received_at.toISOString()] as const) : (["no_target", null] as const);
  return { notify_job_id: null, delivery: { status, attempts: 1, last_error: null, delivered_at, agent_id } };
}

/** Inserts a job that notifies the target on its host. A pull agent has no host and gets the message in its inbox at once. */
function insertNotification(ctx: Context, webhook: OpenWebhook, shown: ShownPayload, { notify_job_id }: NewDelivery) {
  const { board_id, id: webhook_id, board_name, description: instruction, organization_id, gateway_id, session_key } = webhook;
  if (notify_job_id !== null) {
    const lane = session_key === null ? {} : { lane: hostLane(gateway_id, session_key) };
    const facts = { board_id, webhook_id, payload_id: shown.payload_id };
    return [insertJob(ctx, "webhook.notify", facts, { id: notify_job_id, organization_id, gateway_id, ...lane })];
  }
  const agent_id = webhook.inbox_agent_id;
  if (agent_id === null) return [];
  const message = notificationText({ board_id, webhook_id, board_name, instruction, ...shown });
  return [
    insertInboxMessages([{ organization_id, board_id, agent_id, kind: messageKind({ message }), text: message, task_id: null }]),
  ];
}

/**
 * Finds the webhook and its counts of refused posts, with one statement. Throws `not_found`, or `gone` if the webhook is disabled.
 */
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
  requirePayloadRoom(ctx, webhook);
  return webhook;
}

/** Selects how many posts were refused in this clock minute. A webhook without a secret refuses no posts, so no counter is read. */
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
      source: board_webhooks.source,
      event_types: board_webhooks.event_types,
      secret_sealed: board_webhooks.secret_sealed,
      previous_secret_sealed: board_webhooks.previous_secret_sealed,
      previous_secret_until: board_webhooks.previous_secret_until,
      signature_header: board_webhooks.signature_header,
      organization_id: boards.organization_id,
      board_name: boards.name,
      gateway_id: boards.gateway_id,
      gateway_kind: gateways.kind,
      refused_here: refusalsOf(sql.placeholder("refusal_key")),
      refused_in_all: refusalsOf(sql`${board_webhooks.id}::text`),
      stored_bytes: storedPayloadBytes,
      webhook_bytes: webhookPayloadBytes,
      session_key: sql<string | null>`(
        select ${agents.openclaw_session_id} from ${agents} where ${isTargetCandidate} order by ${targetFirst} limit 1)`,
      /** The target agent if the board's gateway is a pull gateway, otherwise null. */
      inbox_agent_id: sql<string | null>`case when ${gateways.kind} = 'pull' then (
        select ${agents.id} from ${agents} where ${isTargetCandidate} order by ${targetFirst} limit 1) end`,
    })
    .from(board_webhooks)
    .innerJoin(boards, eq(boards.id, board_webhooks.board_id))
    .innerJoin(gateways, eq(gateways.id, boards.gateway_id))
    .where(and(eq(board_webhooks.id, sql.placeholder("webhook_id")), eq(board_webhooks.board_id, sql.placeholder("board_id")))),
);
