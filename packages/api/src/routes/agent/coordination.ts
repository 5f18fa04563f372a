import { boardFor } from "@board/core/organization/access";
import { lead, main } from "@board/core/context/actor";
import { AskUserResponse, AskUser, askUser } from "@board/openclaw/coordination/ask-user";
import { Broadcast, BroadcastResponse, broadcastToLeads } from "@board/openclaw/coordination/broadcast";
import { LeadMessage, LeadMessageResponse, messageLead } from "@board/openclaw/coordination/lead-message";
import { endpoint } from "../../endpoint.ts";

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
      agent: "human_escalation",
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
      agent: "lead_direct_routing",
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
      agent: "lead_broadcast_routing",
    },
    (ctx, { body }) => broadcastToLeads(ctx, body),
  ),
];
