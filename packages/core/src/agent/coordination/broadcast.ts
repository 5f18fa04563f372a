import { and, desc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardsOfAgent } from "../../access.ts";
import type { Main } from "../../actor.ts";
import { recordLateEvent } from "../../activity/activity.ts";
import { boards } from "../../board/board.sql.ts";
import type { Context } from "../../context.ts";
import { DomainError } from "../../errors.ts";
import type { GatewayError } from "../../gateway/client.ts";
import { toGatewayMessage } from "../../gateway/failure.ts";
import type { Host } from "../../gateway/host.ts";
import type { GatewayRow } from "../../gateway/target.ts";
import { Id, MAX_IDS } from "../../wire.ts";
import { agents } from "../agent.sql.ts";
import { atHost, hostFailure, sendAtHost, sessionOf } from "./host.ts";
import { leadColumns, LeadLetter, type LeadRef, makeLead, ownGateway } from "./lead-message.ts";
import { leadMessageText } from "./message.ts";

export const Broadcast = LeadLetter.extend({
  board_ids: z
    .array(Id)
    .max(MAX_IDS)
    .nullable()
    .default(null)
    .describe("Boards whose leads are meant; all boards of the gateway when left out."),
}).meta({ id: "GatewayLeadBroadcastRequest" });
export type Broadcast = z.infer<typeof Broadcast>;

const BroadcastResult = z
  .object({
    board_id: Id.describe("Board of the lead."),
    lead_agent_id: Id.nullable().describe("The lead; null when there is none."),
    lead_agent_name: z.string().nullable().describe("Its name."),
    ok: z.boolean().describe("The lead has the message, or gets it as soon as it is there."),
    error: z.string().nullable().describe("Why not."),
  })
  .meta({ id: "GatewayLeadBroadcastBoardResult", description: "What became of a broadcast on one board." });
type BroadcastResult = z.infer<typeof BroadcastResult>;

export const BroadcastSent = z
  .object({
    ok: z.boolean().describe("False only when it failed on every board."),
    sent: z.int().describe("On how many boards it succeeded."),
    failed: z.int().describe("On how many it failed."),
    results: z.array(BroadcastResult).describe("Each board in the order asked for, or newest first."),
  })
  .meta({
    id: "GatewayLeadBroadcastResponse",
    description: "What became of a broadcast.",
    "x-llm-intent": "lead_broadcast_summary",
    "x-when-to-use": ["Finding the boards whose leads must be told in another way"],
  });
export type BroadcastSent = z.infer<typeof BroadcastSent>;

const PREFIX = "Gateway lead broadcast dispatch failed:";

/** A lead, and the text that it is to be sent now. */
interface Addressee {
  board_id: string;
  lead: LeadRef;
  message: string;
}

/** Says something to the leads of several boards at once; what fails on one board does not concern the others. */
export async function broadcastToLeads(ctx: Context<Main>, { board_ids, kind, ...letter }: Broadcast): Promise<BroadcastSent> {
  const gateway = await ownGateway(ctx);
  const found = await listBoards(ctx, board_ids);
  const results = new Map<string, BroadcastResult>();
  const addressees: Addressee[] = [];
  async function address({ board, lead }: Found): Promise<void> {
    const message = leadMessageText(kind, { ...letter, from: ctx.actor.name }, board, ctx.settings.service_url);
    const result = { board_id: board.id, lead_agent_id: lead?.id ?? null, lead_agent_name: lead?.name ?? null };
    try {
      const { agent, created } = lead ? { agent: lead, created: false } : await makeLead(ctx, board, { message });
      if (!created) sessionOf(agent);
      results.set(board.id, { ...result, lead_agent_id: agent.id, lead_agent_name: agent.name, ok: true, error: null });
      if (!created) addressees.push({ board_id: board.id, lead: agent, message });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      results.set(board.id, { ...result, ok: false, error: error.message });
    }
  }
  await Promise.all(found.map(address));
  const failures = addressees.length > 0 ? await sendAll(ctx, gateway, addressees) : [];
  for (const [board_id, failure] of failures)
    results.set(board_id, { ...results.get(board_id)!, ok: false, error: `${PREFIX} ${toGatewayMessage(failure)}` });
  const wanted = board_ids ? [...new Set(board_ids)] : found.map(({ board }) => board.id);
  return conclude(
    ctx,
    wanted.map((board_id) => results.get(board_id) ?? unknown(board_id)),
  );
}

const unknown = (board_id: string): BroadcastResult => ({
  board_id,
  lead_agent_id: null,
  lead_agent_name: null,
  ok: false,
  error: "Board not found.",
});

interface Found {
  board: BoardRow;
  lead: LeadRef | null;
}

/** Boards of the gateway, newest first, with their leads. */
async function listBoards(ctx: Context<Main>, board_ids: string[] | null): Promise<Found[]> {
  if (board_ids?.length === 0) return [];
  return ctx.db
    .select({ board: boards, lead: leadColumns })
    .from(boards)
    .leftJoin(agents, and(eq(agents.board_id, boards.id), eq(agents.is_board_lead, true)))
    .where(and(boardsOfAgent(ctx.actor), board_ids ? inArray(boards.id, board_ids) : undefined))
    .orderBy(desc(boards.created_at), desc(boards.id));
}

/** Sends to all at once, in the time of one request. Returns what went wrong, by board. */
async function sendAll(ctx: Context, gateway: GatewayRow, addressees: readonly Addressee[]): Promise<Map<string, GatewayError>> {
  const request = crypto.randomUUID();
  const open = new Set(addressees.map(({ board_id }) => board_id));
  const failures = new Map<string, GatewayError>();
  async function send(host: Host, { board_id, lead, message }: Addressee): Promise<void> {
    const text = { session_key: sessionOf(lead), label: lead.name, message, deliver: false };
    const failure = await hostFailure(() => sendAtHost(ctx, host, text, `${request}-${board_id}`));
    open.delete(board_id);
    if (failure) failures.set(board_id, failure);
  }
  async function sendEach(host: Host): Promise<void> {
    await Promise.all(addressees.map((one) => send(host, one)));
    // A host that takes nothing from anybody may be gone: its gateway is to show that.
    const [first] = failures.values();
    if (first && failures.size === addressees.length) throw first;
  }
  const failure = await hostFailure(() => atHost(ctx, gateway, sendEach));
  if (failure) for (const board_id of open) failures.set(board_id, failure);
  return failures;
}

async function conclude(ctx: Context<Main>, results: BroadcastResult[]): Promise<BroadcastSent> {
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
