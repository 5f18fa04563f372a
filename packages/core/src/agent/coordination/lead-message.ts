import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../../access.ts";
import type { Main } from "../../actor.ts";
import { lockBoard } from "../../board/lock.ts";
import { type Context, transaction } from "../../context.ts";
import { gateways } from "../../gateway/gateway.sql.ts";
import type { GatewayRow } from "../../gateway/target.ts";
import { type Notice, notify } from "../../notice/notice.ts";
import { Id, MAX_TEXT, NonEmpty } from "../../wire.ts";
import type { AgentRow } from "../agent.ts";
import { agents } from "../agent.sql.ts";
import { ensureLead } from "../lead.ts";
import { dispatch, requireUsable, sessionOf } from "./host.ts";
import { correlationId, replySource, replyTags } from "./letter.ts";
import { leadMessageText } from "./message.ts";

export const LeadLetter = z.object({
  kind: z
    .enum(["question", "handoff"])
    .default("question")
    .describe("Routing mode: `question` wants an answer, `handoff` passes work on."),
  content: NonEmpty(MAX_TEXT).describe("What the lead is told."),
  correlation_id: correlationId,
  reply_tags: replyTags(["gateway_main", "lead_reply"]),
  reply_source: replySource("lead_to_gateway_main"),
});
export type LeadLetter = z.infer<typeof LeadLetter>;

export const LeadMessage = LeadLetter.meta({
  id: "GatewayLeadMessageRequest",
  "x-llm-intent": "lead_direct_message",
  "x-when-to-use": ["Asking the lead of one board, or passing work on to it"],
});

export const LeadMessageSent = z
  .object({
    ok: z.literal(true).describe("The lead has the message, or gets it as soon as it is there."),
    board_id: Id.describe("Board of the lead."),
    lead_agent_id: Id.describe("The lead."),
    lead_agent_name: z.string().describe("Its name."),
    lead_created: z.boolean().describe("Whether the board had none, so that this one was made."),
  })
  .meta({
    id: "GatewayLeadMessageResponse",
    description: "Who got the message.",
    "x-llm-intent": "lead_direct_message_result",
    "x-when-to-use": ["Noting which lead was written to, and whether it is new"],
  });
export type LeadMessageSent = z.infer<typeof LeadMessageSent>;

/** Says something to the lead of a board. One that is not there yet is made, and told once it is on its host. */
export async function messageLead(ctx: Context<Main>, board_id: string, letter: LeadLetter): Promise<LeadMessageSent> {
  const board = await boardFor(ctx, board_id, "write");
  const { gateway, lead: present } = await findLead(ctx, board);
  requireUsable(gateway);
  const message = leadMessageText(letter.kind, { ...letter, from: ctx.actor.name }, board, ctx.settings.service_url);
  const what = `Message to the lead of ${board.name}`;
  const about = { organization_id: board.organization_id, board_id: board.id, agent_id: ctx.actor.agent_id };
  const notice: Notice = {
    message,
    sent: { event_type: "gateway.main.lead_message.sent", message: `${what} sent.`, ...about },
    failed: { event_type: "gateway.main.lead_message.failed", message: `${what} failed.`, ...about },
  };
  const { agent: lead, created } = present ? { agent: present, created: false } : await makeLead(ctx, board, notice);
  if (!created)
    await dispatch(
      ctx,
      gateway,
      { session_key: sessionOf(lead), label: lead.name, message, deliver: false },
      {
        sent: "gateway.main.lead_message.sent",
        failed: "gateway.main.lead_message.failed",
        what,
        about,
        prefix: "Gateway lead message dispatch failed:",
      },
    );
  return { ok: true, board_id: board.id, lead_agent_id: lead.id, lead_agent_name: lead.name, lead_created: created };
}

/** The gateway of a main agent, which is that of its boards too. */
export async function ownGateway(ctx: Context<Main>): Promise<GatewayRow> {
  const { gateway_id, organization_id } = ctx.actor;
  const [gateway] = await ctx.db
    .select()
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  requireUsable(gateway);
  return gateway;
}

/** What of a lead is needed to write to it; its texts can be long. */
export type LeadRef = Pick<AgentRow, "id" | "name" | "openclaw_session_id">;
export const leadColumns = { id: agents.id, name: agents.name, openclaw_session_id: agents.openclaw_session_id };

async function findLead(ctx: Context<Main>, { id, gateway_id, organization_id }: BoardRow) {
  const [found] = await ctx.db
    .select({ gateway: gateways, lead: leadColumns })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.board_id, id), eq(agents.is_board_lead, true)))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  return found ?? { gateway: null, lead: null };
}

/**
 * Makes the lead of a board that has none; another request may be faster. The notice reaches it after all that brings it
 * onto its host: jobs of one lane keep their order.
 */
export function makeLead(ctx: Context<Main>, board: BoardRow, notice: Notice): Promise<{ agent: LeadRef; created: boolean }> {
  return transaction(ctx, async (ctx) => {
    const held = await lockBoard(ctx, board);
    const lead = await ensureLead(ctx, held);
    const { organization_id } = held;
    if (lead.created) await notify(ctx, { ...lead.agent, organization_id }, notice);
    return lead;
  });
}
