import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { agents } from "../agent/agent.sql.ts";
import { hostLane } from "../agent/host.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { builtOnce } from "../db/built-once.ts";
import { writeTogether } from "../db/together.ts";
import { DomainError, notFound } from "../errors.ts";
import { newJob } from "../job/job.ts";
import { learn } from "../log.ts";
import { newEntry } from "../memory/memory.ts";
import { countUp, tooMany } from "../rate.ts";
import { Id } from "../wire.ts";
import { memoryContent } from "./message.ts";
import { bodyText, decodeBody } from "./payload.ts";
import { DEFAULT_SIGNATURE_HEADERS, verifySignature } from "./signature.ts";
import { openSecret } from "./webhook.ts";
import { board_webhook_payloads, board_webhooks } from "./webhook.sql.ts";

/** A post as it reached the door. */
export interface Post {
  board_id: string;
  webhook_id: string;
  headers: Headers;
  source_ip: string;
  /** Reads the raw body; throws `too_large` when it has more bytes than allowed. */
  read(max_bytes: number): Promise<Uint8Array>;
}

export const Accepted = z
  .object({
    ok: z.literal(true).describe("The payload is stored."),
    board_id: Id.describe("Board that received it."),
    webhook_id: Id.describe("Webhook that received it."),
    payload_id: Id.describe("Id of the stored payload."),
  })
  .meta({ id: "BoardWebhookAccepted", description: "The payload is stored and its notification is on the way." });
export type Accepted = z.infer<typeof Accepted>;

/**
 * Takes a post in: the steps of contract webhooks.md §3 in their order. Payload, memory entry and notification job are
 * one statement, so an accepted post is never forgotten. Nothing is stored before the checks have passed.
 */
export async function ingest(ctx: Context, post: Post): Promise<Accepted> {
  const webhook = await openDoor(ctx, post);
  const bytes = await post.read(ctx.settings.webhook_max_payload_bytes);
  const secret = openSecret(ctx, webhook);
  verifySignature(secret, webhook.signature_header, post.headers, bytes);
  const content_type = post.headers.get("content-type");
  const { kind, body } = decodeBody(bytes, content_type);
  const payload_id = crypto.randomUUID();
  const { board_id, id: webhook_id, description: instruction, organization_id, gateway_id } = webhook;
  const lane = webhook.session_key === null ? {} : { lane: hostLane(gateway_id, webhook.session_key) };
  await writeTogether(ctx, [
    ctx.db.insert(board_webhook_payloads).values({
      id: payload_id,
      board_id,
      webhook_id,
      body,
      body_kind: kind,
      headers: keptHeaders(post.headers, secret === null ? [] : signatureHeaders(webhook.signature_header)),
      source_ip: post.source_ip,
      content_type,
      received_at: ctx.now(),
    }),
    newEntry(ctx, {
      board_id,
      content: memoryContent({ board_id, webhook_id, payload_id, instruction, text: bodyText({ body }) }),
      tags: ["webhook", `webhook:${webhook_id}`, `payload:${payload_id}`],
      source: "webhook",
    }),
    newJob(ctx, "webhook.notify", { board_id, webhook_id, payload_id }, { organization_id, gateway_id, ...lane }),
  ]);
  ctx.log.info("webhook.accepted", "A payload is stored, and its agent is going to be told", { webhook_id, payload_id });
  return { ok: true, board_id, webhook_id, payload_id };
}

/** The webhook of that id on that board, if it takes posts now. One statement, one more while there is a rate limit. */
async function openDoor(ctx: Context, post: Post) {
  const board_id = Id.safeParse(post.board_id);
  const webhook_id = Id.safeParse(post.webhook_id);
  if (!board_id.success || !webhook_id.success) throw notFound();
  const [found] = await webhookOfBoard(ctx.db).execute({ webhook_id: webhook_id.data, board_id: board_id.data });
  if (!found) throw notFound();
  learn(ctx.log, { organization_id: found.organization_id });
  if (!found.enabled) throw new DomainError("gone", "Webhook is disabled.");
  const limit = ctx.settings.webhook_rate_per_minute;
  if (limit > 0 && (await countUp(ctx, "webhook", found.id)) > limit) throw tooMany(ctx);
  return found;
}

const webhookOfBoard = builtOnce((db) =>
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
      session_key: sql<string | null>`(
        select agent.openclaw_session_id from ${agents} as agent
        where agent.board_id = ${boards}.id and (agent.id = ${board_webhooks}.agent_id or agent.is_board_lead)
        order by (agent.id = ${board_webhooks}.agent_id) desc nulls last limit 1)`,
    })
    .from(board_webhooks)
    .innerJoin(boards, eq(boards.id, board_webhooks.board_id))
    .where(and(eq(board_webhooks.id, sql.placeholder("webhook_id")), eq(board_webhooks.board_id, sql.placeholder("board_id")))),
);

/** Every header that may hold a signature: some senders fill several, and none of them is kept. */
const signatureHeaders = (configured: string | null) => [...DEFAULT_SIGNATURE_HEADERS, configured?.toLowerCase()];

/** Content-Type, User-Agent and every X- header in lower case, never a credential. */
function keptHeaders(headers: Headers, dropped: readonly (string | undefined)[]): Record<string, string> {
  const kept: Record<string, string> = {};
  headers.forEach((value, name) => {
    const wanted = name === "content-type" || name === "user-agent" || name.startsWith("x-");
    if (wanted && name !== "x-agent-token" && !dropped.includes(name)) kept[name] = value;
  });
  return kept;
}
