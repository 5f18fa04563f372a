import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "@board/core/organization/access";
import type { Agent, Lead } from "@board/core/context/actor";
import { insertEvents } from "@board/core/activity/activity";
import { insertBoardEvents } from "@board/core/subscription/board-event";
import { changedFields, isEmpty } from "@board/core/values/changed-fields";
import { type Context, transaction } from "@board/core/context/context";
import { changedNow } from "@board/core/schema/columns";
import { runBatch } from "@board/core/db/batch";
import { boardAccessDenied, DomainError, notFound } from "@board/core/values/errors";
import { extractOwnContent, extractTools } from "../host/file-fallback.ts";
import { catchGatewayError, GatewayError } from "../wire/gateway-error.ts";
import { readFile, writeFiles } from "../host/workspace.ts";
import { TextOrNull, MAX_TEXT, MAX_URL, NonEmpty, oneLine, lazyObject } from "@board/core/values/wire";
import { agents } from "@board/core/schema/agent.sql";
import { agentUpdatedEvents } from "@board/core/agent/board-events";
import {
  findAgent,
  getAgentForLead,
  getBoardAgent,
  type HostedAgent,
  lockHostedAgent,
  requireSessionKey,
} from "@board/core/agent/lookup";
import { requireUsableGateway } from "@board/core/gateway/target";
import { withInteractiveHost, toUnavailable } from "../gateway/interactive-call.ts";
import { hostAgentId } from "@board/core/values/session-key";

const SOUL = "SOUL.md";

export const Soul = z.string().meta({ id: "AgentSoul", description: "The text of SOUL.md." });

export const UpdateSoul = lazyObject(() => ({
  content: NonEmpty(MAX_TEXT).describe("The complete new text of SOUL.md."),
  source_url: TextOrNull(MAX_URL).default(null).describe("Where the text comes from."),
  reason: TextOrNull(MAX_TEXT).default(null).describe("Reason for the change."),
})).meta({ id: "SoulUpdate" });
export type UpdateSoul = z.infer<typeof UpdateSoul>;

/** Returns the agent if the caller may read its soul: agents may read their own soul, and a lead every soul of its board. */
export async function getSoulTarget(ctx: Context<Agent>, board_id: string, agent_id: string): Promise<HostedAgent> {
  const { actor } = ctx;
  const board = await boardFor(ctx, board_id, "read");
  const isOwn = agent_id === actor.agent_id;
  const found = await (isOwn ? getOwnAgent(ctx, board) : getBoardAgent(ctx, board, agent_id));
  if (!isOwn && !actor.is_board_lead) throw boardAccessDenied();
  return found;
}

/** Looks up the caller in the whole organization, because a main agent may act on any board of its gateway. */
async function getOwnAgent(ctx: Context<Agent>, { organization_id }: BoardRow): Promise<HostedAgent> {
  const own = await findAgent(ctx, ctx.actor.agent_id, organization_id);
  if (!own) throw notFound();
  return own;
}

/** Reads SOUL.md from the agent's host. */
export async function readHostSoul(ctx: Context, { agent, gateway }: HostedAgent): Promise<string> {
  const host_agent_id = hostAgentId(requireSessionKey(agent));
  requireUsableGateway(gateway);
  const read = withInteractiveHost(ctx, gateway, (host) => readFile(host, host_agent_id, SOUL));
  const text = await read.catch((error: unknown) => {
    if (error instanceof GatewayError) return null;
    throw error;
  });
  const content = text && stripTools(text);
  const max_bytes = ctx.settings.budgets.answer_max_bytes;
  if (!content?.trim() || Buffer.byteLength(JSON.stringify(content)) > max_bytes)
    throw new DomainError("unavailable", "Gateway SOUL read failed");
  return content;
}

/**
 * Removes TOOLS.md, which contains the token that only the agent may read. Hosts that accept neither TOOLS.md nor AGENTS.md have it
 * in SOUL.md.
 */
const stripTools = (text: string): string =>
  extractTools(text) === null ? text : extractOwnContent({ name: SOUL, content: text });

/**
 * Replaces the soul of an agent. If the agent has a host, the host gets the text first, so that only an accepted text is stored.
 */
export async function updateSoul(ctx: Context<Lead>, board_id: string, agent_id: string, soul: UpdateSoul): Promise<void> {
  const target = await getAgentForLead(ctx, board_id, agent_id);
  const { agent, gateway } = target;
  if (gateway.kind === "pull") return storeSoul(ctx, target, soul);
  const host_agent = { id: hostAgentId(requireSessionKey(agent)), is_lead: agent.is_board_lead };
  requireUsableGateway(gateway);
  const file = { name: SOUL, content: soul.content };
  const write = () => withInteractiveHost(ctx, gateway, (host) => writeFiles(host, host_agent, [file], { below_minimum: false }));
  const failure = await catchGatewayError(write);
  if (failure) throw toUnavailable("Gateway SOUL update failed:", failure);
  await storeSoul(ctx, target, soul);
}

async function storeSoul(ctx: Context<Lead>, target: HostedAgent, soul: UpdateSoul): Promise<void> {
  await transaction(ctx, async (ctx) => {
    const locked = await lockHostedAgent(ctx, target);
    if (!locked) throw notFound();
    const { agent } = locked;
    const changes = changedFields(agent, { soul_template: soul.content });
    const isAgent = and(eq(agents.id, agent.id), eq(agents.gateway_id, agent.gateway_id));
    const update = ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(isAgent);
    const { organization_id, agent_id } = ctx.actor;
    const about = { organization_id, board_id: agent.board_id, agent_id };
    await runBatch(ctx, [
      ...(isEmpty(changes) ? [] : [update]),
      insertEvents([{ event_type: "agent.soul.updated", ...about, message: updatedMessage(agent.name, soul) }]),
      ...insertBoardEvents(ctx, agentUpdatedEvents(organization_id, { before: agent, after: agent, changes })),
    ]);
  });
}

function updatedMessage(name: string, { reason, source_url }: UpdateSoul): string {
  const because = reason ? ` Reason: ${oneLine(reason)}` : "";
  const source = source_url ? ` Source: ${oneLine(source_url)}` : "";
  return `SOUL.md of ${name} updated.${because}${source}`;
}
