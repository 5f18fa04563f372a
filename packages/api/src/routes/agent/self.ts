import { agent } from "@board/core/context/actor";
import { AgentRead } from "@board/core/agent/agent";
import { AgentHealth, getAgentHealth, recordHeartbeat, listPeerAgents } from "@board/core/agent/self";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { Id, lazyObject } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";
import { agentHints } from "./hints.ts";

/** The calling agent, and the agents it works with. */
export const agentSelf = [
  endpoint(
    "GET",
    "/api/v1/agent/healthz",
    {
      as: agent,
      summary: "Check the agent's credentials",
      description: "Returns the identity of the caller and the boards that it may work on.",
      returns: AgentHealth,
      agent: agentHints({
        intent: "agent_auth_health",
        when_to_use: ["At the start of a turn: check that the token works and which board is yours"],
        routing_policy: ["Make it the first call of a turn, after the heartbeat"],
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
      description: "Reports that the agent is alive. The body is ignored.",
      returns: AgentRead,
      agent: agentHints({
        intent: "agent_heartbeat",
        when_to_use: ["At every wake-up, before anything else"],
        when_not_to_use: ["More often than every 30 seconds: nothing new would be recorded"],
        side_effects: ["The agent is shown as online; at most every 30 seconds an event is recorded"],
        routing_policy: ["Send it first; when it fails, end the turn and write nothing"],
      }),
    },
    (ctx) => recordHeartbeat(ctx),
  ),
  endpoint(
    "GET",
    "/api/v1/agent/agents",
    {
      as: agent,
      summary: "List the agents of the board",
      errors: [403, 404],
      description: "Returns the agents of the caller's board; for a main agent, those of all boards of its gateway and itself.",
      query: lazyObject(() => ({
        ...longPageQuery().shape,
        board_id: Id.optional().describe("Only agents of this board."),
        q: SearchText,
      })),
      returns: pageOf(AgentRead),
      agent: agentHints({
        intent: "agent_roster_discovery",
        when_to_use: [
          "Finding out which agents are on the board before assigning a task, mentioning an agent or asking for help",
        ],
        routing_policy: ["Read it before naming another agent"],
      }),
    },
    (ctx, { query }) => listPeerAgents(ctx, query),
  ),
];
