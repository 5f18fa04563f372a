import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import type { Main } from "@board/core/context/actor";
import { lockBoard } from "@board/core/board/lock";
import { type Context, transaction } from "@board/core/context/context";
import { gateways } from "@board/core/schema/gateway.sql";
import { type GatewayRow, requireUsableGateway } from "@board/core/gateway/target";
import { type AgentNotification, notify } from "@board/core/notification/notification";
import { Id, MAX_TEXT, NonEmpty, lazyObject } from "@board/core/values/wire";
import type { AgentRow } from "@board/core/agent/agent";
import { agents } from "@board/core/schema/agent.sql";
import { ensureLead } from "@board/core/agent/lead";
import { createToken } from "@board/core/agent/token";
import { dispatch } from "./dispatch.ts";
import { requireSessionKey } from "@board/core/agent/lookup";
import { correlationId, replySource, replyTags } from "./reply-fields.ts";
import { leadMessageText } from "./message.ts";

export const LeadMessageFields = lazyObject(() => ({
  kind: z
    .enum(["question", "handoff"])
    .default("question")
    .describe("Routing mode: `question` asks for an answer, `handoff` passes work on."),
  content: NonEmpty(MAX_TEXT).describe("Text of the message."),
  correlation_id: correlationId,
  reply_tags: replyTags(["gateway_main", "lead_reply"]),
  reply_source: replySource("lead_to_gateway_main"),
}));
export type LeadMessageFields = z.infer<typeof LeadMessageFields>;

export const LeadMessage = LeadMessageFields.meta({
  id: "GatewayLeadMessageRequest",
  "x-llm-intent": "lead_direct_message",
  "x-when-to-use": ["Asking the lead of one board, or passing work on to it"],
});

export const LeadMessageResponse = lazyObject(() => ({
  ok: z.literal(true).describe("The message was sent, or will be once the lead is provisioned."),
  board_id: Id.describe("Board of the lead."),
  lead_agent_id: Id.describe("The lead."),
  lead_agent_name: z.string().describe("Name of the lead."),
  lead_created: z.boolean().describe("Whether the lead was created because the board had none."),
})).meta({
  id: "GatewayLeadMessageResponse",
  description: "The lead that gets the message.",
  "x-llm-intent": "lead_direct_message_result",
  "x-when-to-use": ["Noting which lead got the message, and whether it is new"],
});
export type LeadMessageResponse = z.infer<typeof LeadMessageResponse>;

/** Sends a message to the lead of a board. A missing lead is created and gets the message once it is provisioned. */
export async function messageLead(ctx: Context<Main>, board_id: string, fields: LeadMessageFields): Promise<LeadMessageResponse> {
  const board = await boardFor(ctx, board_id, "write");
  const { gateway, lead: existing } = await findLead(ctx, board);
  requireUsableGateway(gateway);
  const message = leadMessageText(fields.kind, { ...fields, from: ctx.actor }, board, ctx.settings.service_url);
  const subject = `Message to the lead of ${board.name}`;
  const event = { organization_id: board.organization_id, board_id: board.id, agent_id: ctx.actor.agent_id };
  const notification: AgentNotification = {
    message,
    sent: { event_type: "gateway.main.lead_message.sent", message: `${subject} sent.`, ...event },
    failed: { event_type: "gateway.main.lead_message.failed", message: `${subject} failed.`, ...event },
  };
  const { agent: lead, created } = existing
    ? { agent: existing, created: false }
    : await createLeadAndNotify(ctx, board, notification);
  if (!created)
    await dispatch(
      ctx,
      gateway,
      { session_key: requireSessionKey(lead), label: lead.name, message, deliver: false },
      {
        sent: "gateway.main.lead_message.sent",
        failed: "gateway.main.lead_message.failed",
        subject,
        event,
        prefix: "Gateway lead message dispatch failed:",
      },
    );
  return { ok: true, board_id: board.id, lead_agent_id: lead.id, lead_agent_name: lead.name, lead_created: created };
}

/** Returns the gateway of the calling main agent, which all boards of the agent use. */
export async function getOwnGateway(ctx: Context<Main>): Promise<GatewayRow> {
  const { gateway_id, organization_id } = ctx.actor;
  const [gateway] = await ctx.db
    .select()
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  requireUsableGateway(gateway);
  return gateway;
}

/** The columns needed to send a message to a lead, without its long texts. */
export type LeadRef = Pick<AgentRow, "id" | "name" | "openclaw_session_id">;
export const leadColumns = { id: agents.id, name: agents.name, openclaw_session_id: agents.openclaw_session_id };

async function findLead(ctx: Context<Main>, { id, gateway_id, organization_id }: BoardRow) {
  const [row] = await ctx.db
    .select({ gateway: gateways, lead: leadColumns })
    .from(gateways)
    .leftJoin(agents, and(eq(agents.board_id, id), eq(agents.is_board_lead, true)))
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, organization_id)));
  return row ?? { gateway: null, lead: null };
}

/**
 * Creates the lead of a board that has none, unless a concurrent request has created it. The notification is sent after the lead
 * is provisioned, because the jobs of one lane keep their order.
 */
export async function createLeadAndNotify(
  ctx: Context<Main>,
  board: BoardRow,
  notification: AgentNotification,
): Promise<{ agent: LeadRef; created: boolean }> {
  const token = await createToken(ctx.settings.token_pepper);
  return transaction(ctx, async (ctx) => {
    const locked = await lockBoard(ctx, board);
    const lead = await ensureLead(ctx, locked, token);
    const { organization_id } = locked;
    if (lead.created)
      await notify(ctx, { ...lead.agent, agent_id: lead.agent.id, organization_id, gateway_kind: "openclaw" }, notification);
    return lead;
  });
}
