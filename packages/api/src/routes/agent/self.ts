import { agent } from "@board/core/context/actor";
import { AgentRead } from "@board/core/agent/agent";
import { AgentHealth, getAgentHealth, recordHeartbeat, listPeerAgents } from "@board/core/agent/self";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { Id, lazyObject } from "@board/core/values/wire";
import { endpoint } from "../../endpoint.ts";

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
      agent: "agent_auth_health",
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
      agent: "agent_heartbeat",
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
      agent: "agent_roster_discovery",
    },
    (ctx, { query }) => listPeerAgents(ctx, query),
  ),
];
