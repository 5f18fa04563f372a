import { boardFor } from "@board/core/access";
import { lead, main } from "@board/core/actor";
import { AskedUser, AskUser, askUser } from "@board/core/agent/coordination/ask-user";
import { Broadcast, BroadcastSent, broadcastToLeads } from "@board/core/agent/coordination/broadcast";
import { LeadMessage, LeadMessageSent, messageLead } from "@board/core/agent/coordination/lead-message";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** How leads and the main agent of their gateway reach each other, and the user. */
export const agentCoordination = [
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/gateway/main/ask-user",
    {
      as: lead,
      summary: "Have the user asked",
      description: "The main agent of the gateway asks the user; the answer comes into the board's memory.",
      operation_id: "agent_lead_ask_user_via_gateway_main",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: AskUser,
      returns: AskedUser,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "human_escalation",
        when_to_use: ["Work is blocked by a decision or a fact that only the user can give"],
        when_not_to_use: ["The answer stands in the board's memory or chat", "An approval is needed: request one"],
        side_effects: ["The main agent is woken and asks the user"],
        negative_guidance: ["Do not ask the same again while an answer is due"],
        routing_policy: ["One question at a time, with its options and a correlation id"],
      }),
    },
    (ctx, { params, body }) => askUser(ctx, params.board_id, body),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/gateway/boards/{board_id}/lead/message",
    {
      as: main,
      summary: "Message the lead of a board",
      description: "A question, or work that is passed on. A board without a lead gets one, which is told once it is set up.",
      operation_id: "agent_main_message_board_lead",
      reaches: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: LeadMessage,
      returns: LeadMessageSent,
      agent: hints({
        roles: ["main"],
        required_actor: "agent_main",
        intent: "lead_direct_routing",
        when_to_use: ["A request of the user concerns one board"],
        when_not_to_use: ["Several boards are concerned: broadcast"],
        side_effects: ["The lead is woken with the text; a missing lead is created"],
        negative_guidance: ["Do not do the work of the board yourself"],
        routing_policy: ["`question` wants an answer, `handoff` passes work on; set a correlation id"],
      }),
    },
    (ctx, { params, body }) => messageLead(ctx, params.board_id, body),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/gateway/leads/broadcast",
    {
      as: main,
      summary: "Message the leads of several boards",
      description: "All boards of the gateway, or those that are named. What fails on one board does not concern the others.",
      operation_id: "agent_main_broadcast_lead_message",
      body: Broadcast,
      returns: BroadcastSent,
      agent: hints({
        roles: ["main"],
        required_actor: "agent_main",
        intent: "lead_broadcast_routing",
        when_to_use: ["The same thing concerns several boards, or all"],
        when_not_to_use: ["One board is concerned: message its lead"],
        side_effects: ["Every lead is woken with the text; missing leads are created"],
        negative_guidance: ["Do not repeat a broadcast because single boards failed: message their leads"],
        routing_policy: ["Name the boards unless it truly concerns all; read `results` for those that failed"],
      }),
    },
    (ctx, { body }) => broadcastToLeads(ctx, body),
  ),
];
