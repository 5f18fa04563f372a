import { and, desc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardsOfAgent } from "@board/core/organization/access";
import type { Main } from "@board/core/context/actor";
import { recordLateEvent } from "@board/core/activity/activity";
import { boards } from "@board/core/schema/board.sql";
import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { catchGatewayError, type GatewayError } from "../wire/gateway-error.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import type { Host } from "../host/open.ts";
import type { GatewayRow } from "@board/core/gateway/target";
import { Id, MAX_IDS, lazyObject } from "@board/core/values/wire";
import { agents } from "@board/core/schema/agent.sql";
import { requireSessionKey } from "@board/core/agent/lookup";
import { withInteractiveHost, sendOnHost } from "../gateway/interactive-call.ts";
import { leadColumns, LeadMessageFields, type LeadRef, createLeadAndNotify, getOwnGateway } from "./lead-message.ts";
import { leadMessageText } from "./message.ts";
import { conditionOf } from "@board/core/lists/filter";
import { truncatable } from "@board/core/lists/large-fields";
import { forEachConcurrent } from "@board/core/values/concurrency";

export const Broadcast = lazyObject(() => ({
  ...LeadMessageFields.shape,
  board_ids: z
    .array(Id)
    .max(MAX_IDS)
    .nullable()
    .default(null)
    .describe("Boards whose leads get the message; all boards of the gateway when omitted."),
})).meta({ id: "GatewayLeadBroadcastRequest" });
export type Broadcast = z.infer<typeof Broadcast>;

const BroadcastResult = lazyObject(() => ({
  board_id: Id.describe("Board of the lead."),
  lead_agent_id: Id.nullable().describe("The lead; null when the board has no lead."),
  lead_agent_name: z.string().nullable().describe("Name of the lead."),
  ok: z.boolean().describe("Whether the message was sent, or will be once the lead is provisioned."),
  error: z.string().nullable().describe("Why it failed."),
})).meta({ id: "GatewayLeadBroadcastBoardResult", description: "Outcome of a broadcast on one board." });
type BroadcastResult = z.infer<typeof BroadcastResult>;

export const BroadcastResponse = lazyObject(() => ({
  ok: z.boolean().describe("False only when the broadcast failed on every board."),
  sent: z.int().describe("Number of boards on which it succeeded."),
  failed: z.int().describe("Number of boards on which it failed."),
  results: z.array(BroadcastResult).describe("One result per board, in the order of the request or newest first."),
  ...truncatable,
})).meta({
  id: "GatewayLeadBroadcastResponse",
  description: "Outcome of a broadcast.",
  "x-llm-intent": "lead_broadcast_summary",
  "x-when-to-use": ["Finding the boards whose leads did not get the message"],
});
export type BroadcastResponse = z.infer<typeof BroadcastResponse>;

/**
 * How many leads are created at a time. A gateway may have thousands of boards, and creating a lead needs a database connection.
 */
const LEADS_AT_ONCE = { max_concurrent: 5, shouldStop: () => false };
/** How many messages are sent to the host at a time. Each is a text of up to 100 KB in memory. */
const MESSAGES_AT_ONCE = { max_concurrent: 50, shouldStop: () => false };

const ERROR_PREFIX = "Gateway lead broadcast dispatch failed:";

/** A lead that exists, with the text to send. */
interface BroadcastRecipient {
  board_id: string;
  lead: LeadRef;
  message: string;
}

/** Sends a message to the leads of several boards. A failure on one board does not affect the others. */
export async function broadcastToLeads(
  ctx: Context<Main>,
  { board_ids, kind, ...fields }: Broadcast,
): Promise<BroadcastResponse> {
  const gateway = await getOwnGateway(ctx);
  const boardsWithLead = await listBoards(ctx, board_ids);
  const results = new Map<string, BroadcastResult>();
  const recipients: BroadcastRecipient[] = [];
  async function resolveRecipient({ board, lead }: BoardWithLead): Promise<void> {
    const message = leadMessageText(kind, { ...fields, from: ctx.actor }, board, ctx.settings.service_url);
    const result = { board_id: board.id, lead_agent_id: lead?.id ?? null, lead_agent_name: lead?.name ?? null };
    try {
      const { agent, created } = lead ? { agent: lead, created: false } : await createLeadAndNotify(ctx, board, { message });
      if (!created) requireSessionKey(agent);
      results.set(board.id, { ...result, lead_agent_id: agent.id, lead_agent_name: agent.name, ok: true, error: null });
      if (!created) recipients.push({ board_id: board.id, lead: agent, message });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      results.set(board.id, { ...result, ok: false, error: error.message });
    }
  }
  await forEachConcurrent(boardsWithLead, LEADS_AT_ONCE, resolveRecipient);
  const failures = recipients.length > 0 ? await sendAll(ctx, gateway, recipients) : [];
  for (const [board_id, failure] of failures)
    results.set(board_id, { ...results.get(board_id)!, ok: false, error: `${ERROR_PREFIX} ${toGatewayMessage(failure)}` });
  const board_order = board_ids ? [...new Set(board_ids)] : boardsWithLead.map(({ board }) => board.id);
  return summarize(
    ctx,
    board_order.map((board_id) => results.get(board_id) ?? boardNotFound(board_id)),
  );
}

const boardNotFound = (board_id: string): BroadcastResult => ({
  board_id,
  lead_agent_id: null,
  lead_agent_name: null,
  ok: false,
  error: "Board not found.",
});

interface BoardWithLead {
  board: BoardRow;
  lead: LeadRef | null;
}

/** Returns boards of the gateway, newest first, with their leads. */
async function listBoards(ctx: Context<Main>, board_ids: string[] | null): Promise<BoardWithLead[]> {
  if (board_ids?.length === 0) return [];
  return ctx.db
    .select({ board: boards, lead: leadColumns })
    .from(boards)
    .leftJoin(agents, and(eq(agents.board_id, boards.id), eq(agents.is_board_lead, true)))
    .where(and(conditionOf(boardsOfAgent(ctx.actor)), board_ids ? inArray(boards.id, board_ids) : undefined))
    .orderBy(desc(boards.created_at), desc(boards.id));
}

/** Sends all messages, many at a time, within the time limit of one request. Returns the failures by board id. */
async function sendAll(
  ctx: Context,
  gateway: GatewayRow,
  recipients: readonly BroadcastRecipient[],
): Promise<Map<string, GatewayError>> {
  const request_id = crypto.randomUUID();
  const pending = new Set(recipients.map(({ board_id }) => board_id));
  const failures = new Map<string, GatewayError>();
  async function send(host: Host, { board_id, lead, message }: BroadcastRecipient): Promise<void> {
    const text = { session_key: requireSessionKey(lead), label: lead.name, message, deliver: false };
    const failure = await catchGatewayError(() => sendOnHost(ctx, host, text, `${request_id}-${board_id}`));
    pending.delete(board_id);
    if (failure) failures.set(board_id, failure);
  }
  async function sendEach(host: Host): Promise<void> {
    await forEachConcurrent(recipients, MESSAGES_AT_ONCE, (recipient) => send(host, recipient));
    // When every message failed, the host may be down. Throwing the error makes `withInteractiveHost` mark the gateway as
    // disconnected.
    const [first] = failures.values();
    if (first && failures.size === recipients.length) throw first;
  }
  const failure = await catchGatewayError(() => withInteractiveHost(ctx, gateway, sendEach));
  if (failure) for (const board_id of pending) failures.set(board_id, failure);
  return failures;
}

async function summarize(ctx: Context<Main>, results: BroadcastResult[]): Promise<BroadcastResponse> {
  const sent = results.filter(({ ok }) => ok).length;
  const failed = results.length - sent;
  const { organization_id, agent_id, name } = ctx.actor;
  await recordLateEvent(ctx, "gateway.main.lead_broadcast.sent", {
    organization_id,
    agent_id,
    message: `Broadcast of ${name} to board leads: ${sent} sent, ${failed} failed.`,
  });
  return { ok: sent > 0 || failed === 0, sent, failed, results };
}
