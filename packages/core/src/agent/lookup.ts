import { and, eq, isNull, type SQL } from "drizzle-orm";
import { type BoardRow, boardFor } from "../access.ts";
import type { Admin, Agent, Lead } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { GatewayRow } from "../gateway/target.ts";
import type { AgentRow } from "./agent.ts";
import { agents } from "./agent.sql.ts";

/** An agent with the gateway that runs it. */
export interface Hosted {
  agent: AgentRow;
  gateway: GatewayRow;
}

/** The agent that an admin may change: on a board that the admin may write to, or the main agent of an own gateway. */
export async function agentFor(ctx: Context<Admin>, agent_id: string): Promise<Hosted> {
  const found = await agentForIfAny(ctx, agent_id);
  if (!found) throw notFound();
  return found;
}

/** The same, but null when there is no such agent anywhere; somebody else's is not found. */
export async function agentForIfAny(ctx: Context<Admin>, agent_id: string): Promise<Hosted | null> {
  const found = await findAgent(ctx, agent_id, ctx.actor.active.organization_id);
  if (!found) {
    if (await isThere(ctx, agent_id)) throw notFound();
    return null;
  }
  if (found.agent.board_id) await boardFor(ctx, found.agent.board_id, "write");
  return found;
}

/** Any agent of an organization, or null. */
export async function findAgent(ctx: Context, agent_id: string, organization_id: string): Promise<Hosted | null> {
  const [found] = await hosted(ctx, and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
  return found ?? null;
}

/** Whether anybody has an agent of this id. */
export async function isThere(ctx: Context, agent_id: string): Promise<boolean> {
  const [any] = await ctx.db.select({ id: agents.id }).from(agents).where(eq(agents.id, agent_id));
  return any !== undefined;
}

/** An agent of the board, or not found. */
export async function agentOn(ctx: Context<Agent>, board: BoardRow, agent_id: string): Promise<Hosted> {
  const found = await findAgentOn(ctx, board, agent_id);
  if (!found) throw notFound();
  return found;
}

/** The same, or null. */
export async function findAgentOn(ctx: Context<Agent>, board: BoardRow, agent_id: string): Promise<Hosted | null> {
  const own = and(eq(agents.board_id, board.id), eq(gateways.organization_id, board.organization_id));
  const [found] = await hosted(ctx, and(eq(agents.id, agent_id), own));
  return found ?? null;
}

/** Any agent of the board that the lead is on. */
export const targetOfLead = async (ctx: Context<Lead>, board_id: string, agent_id: string): Promise<Hosted> =>
  agentOn(ctx, await boardFor(ctx, board_id, "write"), agent_id);

/** The agent, held until the transaction ends; null when it is gone or on another board than it was. */
export async function holdAgent(ctx: Context, { agent, gateway }: Hosted): Promise<Hosted | null> {
  const sameBoard = agent.board_id === null ? isNull(agents.board_id) : eq(agents.board_id, agent.board_id);
  const own = and(eq(agents.id, agent.id), sameBoard, eq(gateways.organization_id, gateway.organization_id));
  const [held] = await hosted(ctx, own).for("update", { of: agents });
  return held ?? null;
}

const hosted = (ctx: Context, which: SQL | undefined) =>
  ctx.db
    .select({ agent: agents, gateway: gateways })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(which);
