import { agent, lead } from "@board/core/actor";
import { AgentCreated, CreateAgent, createAgent } from "@board/core/agent/agent";
import { targetOfLead } from "@board/core/agent/lookup";
import { Nudge, nudgeAgent } from "@board/core/agent/nudge";
import { removeBoardAgent } from "@board/core/agent/remove";
import { readSoul, Soul, soulTarget, UpdateSoul, updateSoul } from "@board/core/agent/soul";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../../endpoint.ts";
import { hints } from "./hints.ts";

const one = "/api/v1/agent/boards/{board_id}/agents/{agent_id}";
const soul = "/api/v1/agent/boards/{board_id}/agents/{agent_id}/soul";

/** Agents as the lead of their board manages them. */
export const agentAgents = [
  endpoint(
    "POST",
    "/api/v1/agent/agents",
    {
      as: lead,
      summary: "Create an agent",
      errors: [409],
      description: "A worker for the lead's board. The answer shows its token this once; its host gets it by itself.",
      operation_id: "agent_lead_create_agent",
      body: CreateAgent,
      returns: AgentCreated,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_management",
        when_to_use: ["Work of a kind keeps coming that nobody on the board is made for"],
        when_not_to_use: ["An agent with this role is on the board: give it the work"],
        side_effects: ["A new agent on the board, which is set up on the host and woken"],
        negative_guidance: ["Never pass the token on: the agent finds it in its own TOOLS.md"],
        routing_policy: ["One clear role per agent; the board's limit counts all but the lead"],
      }),
    },
    (ctx, { body }) => createAgent(ctx, body),
  ),
  endpoint(
    "DELETE",
    one,
    {
      as: lead,
      summary: "Delete an agent",
      description: "Its tasks become free, and its host forgets it in the background. One that is not there is deleted already.",
      operation_id: "agent_lead_delete_board_agent",
      returns: Ok,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_lifecycle",
        when_to_use: ["A worker of the board is not needed any more"],
        when_not_to_use: ["The agent is only slow or silent: nudge it first"],
        side_effects: ["The agent, its files and its session are gone; its tasks in progress are back in the inbox"],
        negative_guidance: ["Leads and gateway main agents cannot be deleted here"],
        routing_policy: ["Have its notes and open work handed over before"],
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
      errors: [502],
      description: "Says something to an agent of the board at once, word for word.",
      operation_id: "agent_lead_nudge_agent",
      reaches: (ctx, params) => targetOfLead(ctx, params.board_id, params.agent_id),
      body: Nudge,
      returns: Ok,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_coordination",
        when_to_use: ["An agent of the board is stalled, or must know something before its next heartbeat"],
        when_not_to_use: ["What is said belongs to a task: comment on the task"],
        side_effects: ["The agent is woken with the text, and its answer may leave on its own channel"],
        negative_guidance: ["After 502 the text was not delivered; do not repeat it in a loop"],
        routing_policy: ["One short, actionable text; facts go into the board's memory"],
      }),
    },
    async (ctx, { params, body }) => {
      await nudgeAgent(ctx, params.board_id, params.agent_id, body);
      return ok;
    },
  ),
  endpoint(
    "GET",
    soul,
    {
      as: agent,
      summary: "Read an agent's SOUL.md",
      errors: [502],
      description: "The text as the host has it now: the caller's own, or that of any agent of the board for its lead.",
      reaches: (ctx, params) => soulTarget(ctx, params.board_id, params.agent_id),
      returns: Soul,
      agent: hints({
        roles: ["lead", "worker"],
        intent: "agent_board_soul_lookup",
        when_to_use: ["Reading what an agent is meant to be, before changing it"],
        negative_guidance: ["Workers read their own only"],
        routing_policy: ["Read it before every change of it"],
      }),
    },
    (ctx, { params }) => readSoul(ctx, params.board_id, params.agent_id),
  ),
  endpoint(
    "PUT",
    soul,
    {
      as: lead,
      summary: "Replace an agent's SOUL.md",
      errors: [502],
      description: "Written to the host first, then kept as the agent's own soul.",
      operation_id: "agent_lead_update_agent_soul",
      reaches: (ctx, params) => targetOfLead(ctx, params.board_id, params.agent_id),
      body: UpdateSoul,
      returns: Ok,
      agent: hints({
        roles: ["lead"],
        required_actor: "board_lead",
        intent: "agent_knowledge_authoring",
        when_to_use: ["An agent's role, limits or way of working change for good"],
        when_not_to_use: ["A passing instruction: nudge the agent or comment on its task"],
        side_effects: ["The agent's SOUL.md is replaced as a whole, and the change is recorded with reason and source"],
        negative_guidance: ["Never write secrets or daily notes into a soul"],
        routing_policy: ["Start from the present text, change as little as needed, and say why in `reason`"],
      }),
    },
    async (ctx, { params, body }) => {
      await updateSoul(ctx, params.board_id, params.agent_id, body);
      return ok;
    },
  ),
];
