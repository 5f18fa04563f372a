import { and, eq } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import type { Agent, Lead } from "../actor.ts";
import { newEvents } from "../activity/activity.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { writeTogether } from "../db/together.ts";
import { boardDenied, DomainError, notFound } from "../errors.ts";
import { ownIn, toolsIn } from "../gateway/carrier.ts";
import { GatewayError } from "../gateway/client.ts";
import { readFile, writeFiles } from "../gateway/workspace.ts";
import { Blankable, MAX_TEXT, MAX_URL, NonEmpty, oneLine } from "../wire.ts";
import { agents } from "./agent.sql.ts";
import { agentBoardEvents } from "./board-events.ts";
import { atHost, hostFailure, requireUsable, sessionOf, unavailable } from "./coordination/host.ts";
import { hostAgentId } from "./host.ts";
import { agentOn, findAgent, type Hosted, holdAgent, targetOfLead } from "./lookup.ts";

const SOUL = "SOUL.md";

export const Soul = z.string().meta({ id: "AgentSoul", description: "The text of SOUL.md." });

export const UpdateSoul = z
  .object({
    content: NonEmpty(MAX_TEXT).describe("The whole new text of SOUL.md."),
    source_url: Blankable(MAX_URL).default(null).describe("Where the text comes from."),
    reason: Blankable(MAX_TEXT).default(null).describe("Why it is changed."),
  })
  .meta({ id: "SoulUpdate" });
export type UpdateSoul = z.infer<typeof UpdateSoul>;

/** The agent whose soul the caller may read: itself, or any of its board for the lead. */
export async function soulTarget(ctx: Context<Agent>, board_id: string, agent_id: string): Promise<Hosted> {
  const { actor } = ctx;
  const board = await boardFor(ctx, board_id, "read");
  const isOwn = agent_id === actor.agent_id;
  const found = await (isOwn ? ownHosted(ctx, board) : agentOn(ctx, board, agent_id));
  if (!isOwn && !actor.is_board_lead) throw boardDenied();
  return found;
}

/** A main agent is itself on every board of its gateway. */
async function ownHosted(ctx: Context<Agent>, { organization_id }: BoardRow): Promise<Hosted> {
  const own = await findAgent(ctx, ctx.actor.agent_id, organization_id);
  if (!own) throw notFound();
  return own;
}

/** SOUL.md as the agent's host has it at this moment. */
export async function readSoul(ctx: Context<Agent>, board_id: string, agent_id: string): Promise<string> {
  const { agent, gateway } = await soulTarget(ctx, board_id, agent_id);
  const host_agent_id = hostAgentId(sessionOf(agent));
  requireUsable(gateway);
  const read = atHost(ctx, gateway, (host) => readFile(host, host_agent_id, SOUL));
  const text = await read.catch((error: unknown) => {
    if (error instanceof GatewayError) return null;
    throw error;
  });
  const content = text && withoutTools(text);
  if (!content?.trim()) throw new DomainError("unavailable", "Gateway SOUL read failed");
  return content;
}

/** A host may have refused TOOLS.md, so that SOUL.md carries it; the token in it is for the agent alone. */
const withoutTools = (text: string): string => (toolsIn(text) === null ? text : ownIn({ name: SOUL, content: text }));

/** Replaces the soul of an agent: on its host first, so that what is stored is what the host has taken. */
export async function updateSoul(ctx: Context<Lead>, board_id: string, agent_id: string, soul: UpdateSoul): Promise<void> {
  const target = await targetOfLead(ctx, board_id, agent_id);
  const { agent, gateway } = target;
  const place = { id: hostAgentId(sessionOf(agent)), is_lead: agent.is_board_lead };
  requireUsable(gateway);
  const file = { name: SOUL, content: soul.content };
  const write = () => atHost(ctx, gateway, (host) => writeFiles(host, place, [file], { below_minimum: false }));
  const failure = await hostFailure(write);
  if (failure) throw unavailable("Gateway SOUL update failed:", failure);
  await store(ctx, target, soul);
}

async function store(ctx: Context<Lead>, target: Hosted, soul: UpdateSoul): Promise<void> {
  await transaction(ctx, async (ctx) => {
    const held = await holdAgent(ctx, target);
    if (!held) throw notFound();
    const { agent } = held;
    const changes = changesOf(agent, { soul_template: soul.content });
    const own = and(eq(agents.id, agent.id), eq(agents.gateway_id, agent.gateway_id));
    const update = ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(own);
    const { organization_id, agent_id } = ctx.actor;
    const about = { organization_id, board_id: agent.board_id, agent_id };
    await writeTogether(ctx, [
      ...(isEmpty(changes) ? [] : [update]),
      newEvents(ctx, [{ event_type: "agent.soul.updated", ...about, message: updatedMessage(agent.name, soul) }]),
      ...newBoardEvents(ctx, agentBoardEvents(organization_id, { before: agent, after: agent, changes })),
    ]);
  });
}

function updatedMessage(name: string, { reason, source_url }: UpdateSoul): string {
  const because = reason ? ` Reason: ${oneLine(reason)}` : "";
  const source = source_url ? ` Source: ${oneLine(source_url)}` : "";
  return `SOUL.md of ${name} updated.${because}${source}`;
}
