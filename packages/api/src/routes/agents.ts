import { admin, adminOrAgent, adminOrLead } from "@board/core/actor";
import { AgentCreated, AgentRead, CreateAgent, createAgent, getAgent, listAgents } from "@board/core/agent/agent";
import { CheckedIn, CheckIn, checkIn, CheckInByName, checkInByName, requireOwn } from "@board/core/agent/check-in";
import { agentFor } from "@board/core/agent/lookup";
import { removeAgent } from "@board/core/agent/remove";
import { AgentEvent, AgentStreamQuery, followAgents } from "@board/core/agent/stream";
import { UpdateAgent, updateAgent } from "@board/core/agent/update";
import { pageOf, pageQuery } from "@board/core/page";
import { Id, Ok, ok, QueryBoolean } from "@board/core/wire";
import * as z from "zod";
import { endpoint } from "../endpoint.ts";

const AgentQuery = pageQuery().extend({
  board_id: Id.optional().describe("Only agents of this board."),
  gateway_id: Id.optional().describe("Only agents of this gateway's boards, and its main agent."),
});

const UpdateQuery = z.object({
  force: QueryBoolean.default(false).describe("Write all files anew, BOOTSTRAP.md too, also when nothing has changed."),
});

/** Agents as people manage them. */
export const agents = [
  endpoint(
    "GET",
    "/api/v1/agents",
    { as: admin, summary: "List agents", errors: [404], query: AgentQuery, returns: pageOf(AgentRead) },
    (ctx, { query }) => listAgents(ctx, query),
  ),
  endpoint(
    "GET",
    "/api/v1/agents/stream",
    {
      as: admin,
      summary: "Follow agents",
      errors: [404],
      description:
        "Server-sent events `agent`, one per visible change. A deleted agent has none. Resumes after the event named by Last-Event-ID.",
      query: AgentStreamQuery,
      returns: AgentEvent,
      media_type: "text/event-stream",
    },
    (_ctx, { query, http }) => http.stream(query.since, { together: (ctx, admins) => followAgents(ctx, admins, query.board_id) }),
  ),
  endpoint(
    "POST",
    "/api/v1/agents",
    {
      as: adminOrLead,
      summary: "Create an agent",
      errors: [409],
      description: "The answer shows the agent's token this once.",
      body: CreateAgent,
      returns: AgentCreated,
    },
    (ctx, { body }) => createAgent(ctx, body),
  ),
  endpoint("GET", "/api/v1/agents/{agent_id}", { as: admin, summary: "Get an agent", returns: AgentRead }, (ctx, { params }) =>
    getAgent(ctx, params.agent_id),
  ),
  endpoint(
    "PATCH",
    "/api/v1/agents/{agent_id}",
    {
      as: admin,
      summary: "Change an agent",
      errors: [409],
      description:
        "Its host follows in the background. An agent that moves to another gateway, or becomes its main agent, is made there anew.",
      reaches: (ctx, params) => agentFor(ctx, params.agent_id),
      query: UpdateQuery,
      body: UpdateAgent,
      returns: AgentRead,
    },
    (ctx, { params, query, body }) => updateAgent(ctx, params.agent_id, body, query),
  ),
  endpoint(
    "DELETE",
    "/api/v1/agents/{agent_id}",
    {
      as: admin,
      summary: "Delete an agent",
      description:
        "Its token is void at once, its tasks are free, its host forgets it in the background. An unknown one is deleted already.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeAgent(ctx, params.agent_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    "/api/v1/agents/heartbeat",
    {
      as: adminOrAgent,
      operation_id: "heartbeat_agent_by_name",
      summary: "Send a heartbeat by name",
      errors: [409],
      description: "An agent for itself; a person for the agent of a board, which is made when it is missing.",
      body: CheckInByName,
      returns: CheckedIn,
    },
    (ctx, { body }) => checkInByName(ctx, body),
  ),
  endpoint(
    "POST",
    "/api/v1/agents/{agent_id}/heartbeat",
    {
      as: adminOrAgent,
      summary: "Send a heartbeat",
      description: "By the agent itself, or by a person in its stead.",
      reaches: (ctx, params) => requireOwn(ctx, params.agent_id),
      body: CheckIn,
      returns: AgentRead,
    },
    (ctx, { params, body }) => checkIn(ctx, params.agent_id, body),
  ),
];
