import { agent, lead } from "@board/core/context/actor";
import { AgentCreated, CreateAgent, createAgent } from "@board/core/agent/agent";
import { getAgentForLead } from "@board/core/agent/lookup";
import { Nudge, nudgeAgent } from "@board/openclaw/coordination/nudge";
import { removeBoardAgent } from "@board/core/agent/remove";
import { Soul, getSoulTarget, UpdateSoul, updateSoul } from "@board/openclaw/coordination/agent-soul";
import { getSoul } from "@board/openclaw/coordination/soul";
import { Ok, ok } from "@board/core/values/wire";
import { boardAgentResource } from "../conditional-resources.ts";
import { endpoint } from "../../endpoint.ts";

const itemPath = "/api/v1/agent/boards/{board_id}/agents/{agent_id}";
const soulPath = "/api/v1/agent/boards/{board_id}/agents/{agent_id}/soul";

/** Management of agents by the lead of their board. */
export const agentAgents = [
  endpoint(
    "POST",
    "/api/v1/agent/agents",
    {
      as: lead,
      summary: "Create an agent",
      errors: [409],
      description:
        "Creates a worker on the board of the lead. Only this response contains its token, which the host receives automatically.",
      operation_id: "agent_lead_create_agent",
      body: CreateAgent,
      secrets: ["auth_token"],
      returns: AgentCreated,
      agent: "agent_management",
    },
    (ctx, { body }) => createAgent(ctx, body),
  ),
  endpoint(
    "DELETE",
    itemPath,
    {
      as: lead,
      summary: "Delete an agent",
      conditional: boardAgentResource,
      description: "Unassigns its tasks and removes it from its host in the background. Deleting an unknown agent succeeds.",
      operation_id: "agent_lead_delete_board_agent",
      returns: Ok,
      agent: "agent_lifecycle",
    },
    async (ctx, { params }) => {
      await removeBoardAgent(ctx, params.board_id, params.agent_id);
      return ok;
    },
  ),
  endpoint(
    "POST",
    "/api/v1/agent/boards/{board_id}/agents/{agent_id}/nudge",
    {
      as: lead,
      summary: "Nudge an agent",
      calls_out: true,
      errors: [502],
      description: "Sends a message to an agent of the board immediately and unchanged.",
      operation_id: "agent_lead_nudge_agent",
      authorize: (ctx, params) => getAgentForLead(ctx, params.board_id, params.agent_id),
      body: Nudge,
      returns: Ok,
      agent: "agent_coordination",
    },
    async (ctx, { params, body }) => {
      await nudgeAgent(ctx, params.board_id, params.agent_id, body);
      return ok;
    },
  ),
  endpoint(
    "GET",
    soulPath,
    {
      as: agent,
      summary: "Get an agent's SOUL.md",
      calls_out: true,
      errors: [502],
      description:
        "Returns the current text on the host. An agent may read its own, and the lead may read the text of any agent of the board.",
      authorize: (ctx, params) => getSoulTarget(ctx, params.board_id, params.agent_id),
      returns: Soul,
      agent: "agent_board_soul_lookup",
    },
    (ctx, { params }) => getSoul(ctx, params.board_id, params.agent_id),
  ),
  endpoint(
    "PUT",
    soulPath,
    {
      as: lead,
      summary: "Replace an agent's SOUL.md",
      calls_out: true,
      errors: [502],
      description: "Writes the text to the host first, then stores it as the agent's soul.",
      operation_id: "agent_lead_update_agent_soul",
      authorize: (ctx, params) => getAgentForLead(ctx, params.board_id, params.agent_id),
      body: UpdateSoul,
      returns: Ok,
      agent: "agent_knowledge_authoring",
    },
    async (ctx, { params, body }) => {
      await updateSoul(ctx, params.board_id, params.agent_id, body);
      return ok;
    },
  ),
];
