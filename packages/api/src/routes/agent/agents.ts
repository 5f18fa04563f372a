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
import { agentHints } from "./hints.ts";

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
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_management",
        when_to_use: ["Tasks of a kind keep arriving that no agent on the board specializes in"],
        when_not_to_use: ["An agent with this role is on the board: assign the work to it"],
        side_effects: ["A new agent is created on the board, set up on the host and woken"],
        negative_guidance: ["Never share the token: the agent finds it in its own TOOLS.md"],
        routing_policy: ["Give each agent one clear role; the agent limit of the board does not count the lead"],
      }),
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
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_lifecycle",
        when_to_use: ["A worker of the board is no longer needed"],
        when_not_to_use: ["The agent is only slow or silent: nudge it first"],
        side_effects: ["The agent, its files and its session are deleted; its tasks in progress return to the inbox"],
        negative_guidance: ["Leads and gateway main agents cannot be deleted here"],
        routing_policy: ["Have its notes and open work handed over first"],
      }),
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
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_coordination",
        when_to_use: ["An agent of the board is stalled, or needs information before its next heartbeat"],
        when_not_to_use: ["The message belongs to a task: comment on the task"],
        side_effects: ["The agent is woken with the text, and may reply on its own channel"],
        negative_guidance: ["After 502 the text was not delivered; do not repeat it in a loop"],
        routing_policy: ["Send one short, actionable text; record facts in board memory"],
      }),
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
      description: "Returns the current text on the host. An agent may read its own, the lead that of any agent of the board.",
      authorize: (ctx, params) => getSoulTarget(ctx, params.board_id, params.agent_id),
      returns: Soul,
      agent: agentHints({
        roles: ["lead", "worker"],
        intent: "agent_board_soul_lookup",
        when_to_use: ["Reading the role of an agent before changing it"],
        negative_guidance: ["Workers may read only their own"],
        routing_policy: ["Read it before every change"],
      }),
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
      agent: agentHints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_knowledge_authoring",
        when_to_use: ["The role, limits or working style of an agent change permanently"],
        when_not_to_use: ["The instruction is temporary: nudge the agent or comment on its task"],
        side_effects: ["The agent's SOUL.md is replaced entirely, and the change is recorded with reason and source"],
        negative_guidance: ["Never write secrets or daily notes into a soul"],
        routing_policy: ["Start from the current text, change as little as needed, and explain why in `reason`"],
      }),
    },
    async (ctx, { params, body }) => {
      await updateSoul(ctx, params.board_id, params.agent_id, body);
      return ok;
    },
  ),
];
