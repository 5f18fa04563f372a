import { admin, adminOrAgent, adminOrLead } from "@board/core/context/actor";
import { AgentCreated, AgentRead, CreateAgent, createAgent, getAgent, listAgents } from "@board/core/agent/agent";
import { CheckedIn, CheckIn, checkIn, CheckInByName, checkInByName, requireSelfOrAdmin } from "@board/core/agent/check-in";
import { agentFor } from "@board/core/agent/lookup";
import { removeAgent } from "@board/core/agent/remove";
import { AgentToken, rotateAgentToken } from "@board/core/agent/token-rotation";
import { UpdateAgent, updateAgent } from "@board/core/agent/update";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { SearchText } from "@board/core/lists/text-search";
import { Id, Ok, ok, QueryBoolean, lazyObject } from "@board/core/values/wire";
import { AgentFiles, getAgentFiles } from "@board/openclaw/template/agent-files";
import { agentResource } from "./conditional-resources.ts";
import { endpoint } from "../endpoint.ts";

const AgentQuery = lazyObject(() => ({
  ...longPageQuery().shape,
  board_id: Id.optional().describe("Only agents of this board."),
  gateway_id: Id.optional().describe("Only agents of the boards of this gateway, and its main agent."),
  q: SearchText,
}));

const UpdateQuery = lazyObject(() => ({
  force: QueryBoolean.default(false).describe("Rewrite all files, including BOOTSTRAP.md, even if nothing has changed."),
}));

/** Management of agents by people. */
export const agents = [
  endpoint(
    "GET",
    "/api/v1/agents",
    { as: admin, summary: "List agents", errors: [404], query: AgentQuery, returns: pageOf(AgentRead) },
    (ctx, { query }) => listAgents(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/agents",
    {
      as: adminOrLead,
      summary: "Create an agent",
      errors: [409],
      description: "Only this response contains the token of the agent.",
      body: CreateAgent,
      secrets: ["auth_token"],
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
      summary: "Update an agent",
      conditional: agentResource,
      errors: [409],
      description:
        "The host is updated in the background. An agent that moves to another gateway, or becomes a main agent, is created again there.",
      authorize: (ctx, params) => agentFor(ctx, params.agent_id),
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
      conditional: agentResource,
      description:
        "Revokes its token immediately, unassigns its tasks, and removes it from its host in the background. Deleting an unknown agent succeeds.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeAgent(ctx, params.agent_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    "/api/v1/agents/{agent_id}/files",
    {
      as: admin,
      operation_id: "get_agent_files",
      summary: "Get the files of an agent",
      calls_out: true,
      errors: [422],
      description:
        "Returns the files as the service would write them to the agent's host now, or the instructions of an agent without a host. The token is hidden. Returns 422 if the files would be too large to be written.",
      returns: AgentFiles,
    },
    (ctx, { params }) => getAgentFiles(ctx, params.agent_id),
  ),
  endpoint(
    "POST",
    "/api/v1/agents/{agent_id}/token",
    {
      as: admin,
      operation_id: "rotate_agent_token",
      summary: "Rotate the token of an agent",
      description:
        "The old token and the tokens of the agent's runs stop working immediately. Only this response contains the new token; an agent on a host gets it there, in the background, and is then started again.",
      secrets: ["auth_token"],
      returns: AgentToken,
    },
    (ctx, { params }) => rotateAgentToken(ctx, params.agent_id),
  ),
  endpoint(
    "POST",
    "/api/v1/agents/heartbeat",
    {
      as: adminOrAgent,
      operation_id: "heartbeat_agent_by_name",
      summary: "Send a heartbeat by name",
      errors: [409],
      description:
        "An agent sends its own heartbeat. A person sends one for an agent of a board, which is created if it does not exist.",
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
      description: "Sent by the agent itself, or by a person on its behalf.",
      authorize: (ctx, params) => requireSelfOrAdmin(ctx, params.agent_id),
      body: CheckIn,
      returns: AgentRead,
    },
    (ctx, { params, body }) => checkIn(ctx, params.agent_id, body),
  ),
];
