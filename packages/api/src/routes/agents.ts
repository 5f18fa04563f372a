import { admin, adminOrLead } from "@board/core/actor";
import { AgentCreated, AgentRead, CreateAgent, createAgent, getAgent, listAgents } from "@board/core/agent/agent";
import { pageOf, pageQuery } from "@board/core/page";
import { Id } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

const AgentQuery = pageQuery().extend({
  board_id: Id.optional().describe("Only agents of this board."),
  gateway_id: Id.optional().describe("Only agents of this gateway's boards, and its main agent."),
});

/** Agents as people manage them. */
export const agents = [
  endpoint(
    "GET",
    "/api/v1/agents",
    { as: admin, summary: "List agents", query: AgentQuery, returns: pageOf(AgentRead) },
    (ctx, { query }) => listAgents(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agents",
    {
      as: adminOrLead,
      summary: "Create an agent",
      description: "The answer shows the agent's token this once.",
      body: CreateAgent,
      returns: AgentCreated,
    },
    (ctx, { body }) => createAgent(ctx, body),
  ),
  endpoint("GET", "/api/v1/agents/{agent_id}", { as: admin, summary: "Get an agent", returns: AgentRead }, (ctx, { params }) =>
    getAgent(ctx, params.agent_id),
  ),
];
