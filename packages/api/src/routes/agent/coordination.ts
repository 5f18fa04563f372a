import { boardFor } from "@board/core/organization/access";
import { lead, main } from "@board/core/context/actor";
import { AskUserResponse, AskUser, askUser } from "@board/openclaw/coordination/ask-user";
import { Broadcast, BroadcastResponse, broadcastToLeads } from "@board/openclaw/coordination/broadcast";
import { LeadMessage, LeadMessageResponse, messageLead } from "@board/openclaw/coordination/lead-message";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** Messages between leads, the main agent of their gateway, and the user. */
export const agentCoordination = [
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/gateway/main/ask-user",
    {
      as: lead,
      summary: "Ask the user through the main agent",
      calls_out: true,
      errors: [502],
      description: "The main agent of the gateway asks the user. The answer is written to board memory.",
      operation_id: "agent_lead_ask_user_via_gateway_main",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: AskUser,
      returns: AskUserResponse,
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "human_escalation",
        when_to_use: ["Work is blocked by a decision or information that only the user can give"],
        when_not_to_use: ["The answer is in board memory or chat", "An approval is needed: request one"],
        side_effects: ["The main agent is woken and asks the user"],
        negative_guidance: ["Do not repeat the question while an answer is pending"],
        routing_policy: ["Ask one question at a time, with its options and a correlation id"],
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
      calls_out: true,
      errors: [502],
      description:
        "Sends a question or hands over work. If the board has no lead, one is created and receives the message once it is set up.",
      operation_id: "agent_main_message_board_lead",
      authorize: (ctx, params) => boardFor(ctx, params.board_id, "write"),
      body: LeadMessage,
      returns: LeadMessageResponse,
      agent: agentHints({
        roles: ["main"],
        required_actor: "agent_main",
        intent: "lead_direct_routing",
        when_to_use: ["A request from the user concerns one board"],
        when_not_to_use: ["Several boards are concerned: broadcast"],
        side_effects: ["The lead is woken with the text; a missing lead is created"],
        negative_guidance: ["Do not do the board's work yourself"],
        routing_policy: ["Use `question` to get an answer, `handoff` to hand over work; set a correlation id"],
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
      calls_out: true,
      description:
        "Sends to all boards of the gateway, or to the given boards. A failure on one board does not affect the others.",
      operation_id: "agent_main_broadcast_lead_message",
      body: Broadcast,
      returns: BroadcastResponse,
      agent: agentHints({
        roles: ["main"],
        required_actor: "agent_main",
        intent: "lead_broadcast_routing",
        when_to_use: ["The message concerns several boards, or all of them"],
        when_not_to_use: ["One board is concerned: message its lead"],
        side_effects: ["Every lead is woken with the text; missing leads are created"],
        negative_guidance: ["Do not repeat a broadcast because some boards failed: message their leads instead"],
        routing_policy: ["Name the boards unless the message concerns all; check `results` for failures"],
      }),
    },
    (ctx, { body }) => broadcastToLeads(ctx, body),
  ),
];
