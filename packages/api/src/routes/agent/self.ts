import { agent } from "@board/core/actor";
import { AgentRead } from "@board/core/agent/agent";
import { AgentHealth, getAgentHealth, heartbeat, listFellowAgents } from "@board/core/agent/self";
import { pageOf, pageQuery } from "@board/core/page";
import { Id } from "@board/core/wire";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

/** The calling agent itself, and those it works with. */
export const self = [
  endpoint(
    "GET",
    "/api/v1/agent/healthz",
    {
      as: agent,
      summary: "Check the agent's credentials",
      description: "Who the caller is and what it may work on.",
      returns: AgentHealth,
      agent: hints({
        intent: "agent_auth_health",
        when_to_use: ["Start of a turn: check that the token works and which board is yours"],
        routing_policy: ["First call of a turn, after the heartbeat"],
      }),
    },
    (ctx) => getAgentHealth(ctx),
  ),
  endpoint(
    "POST",
    "/api/v1/agent/heartbeat",
    {
      as: agent,
      summary: "Send a heartbeat",
      description: "Tells that the agent lives. Any body is ignored.",
      returns: AgentRead,
      agent: hints({
        intent: "agent_heartbeat",
        when_to_use: ["At every wake-up, before anything else"],
        when_not_to_use: ["More often than every 30 seconds: nothing new would be recorded"],
        side_effects: ["The agent is shown as online; at most every 30 seconds an event is recorded"],
        routing_policy: ["Send it first; when it fails, end the turn and write nothing"],
      }),
    },
    (ctx) => heartbeat(ctx),
  ),
  endpoint(
    "GET",
    "/api/v1/agent/agents",
    {
      as: agent,
      summary: "List fellow agents",
      errors: [403, 404],
      description: "Agents of the caller's board; for a main agent those of its gateway's boards and itself.",
      query: pageQuery().extend({ board_id: Id.optional().describe("Only agents of this board.") }),
      returns: pageOf(AgentRead),
      agent: hints({
        intent: "agent_roster_discovery",
        when_to_use: ["Finding out who is on the board, before assigning, mentioning or asking for help"],
        routing_policy: ["Read it before naming another agent"],
      }),
    },
    (ctx, { query }) => listFellowAgents(ctx, query),
  ),
];
