import { and, eq, getTableColumns, isNull, or, type SQL } from "drizzle-orm";
import { type BoardRow, boardFor, readableBoards } from "../organization/access.ts";
import { requireKeyForAllBoards } from "../organization/board-rights.ts";
import type { Admin, Agent, Lead } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { conditionOf } from "../lists/filter.ts";
import { boards } from "../schema/board.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { agents } from "../schema/agent.sql.ts";

/** An agent with the gateway that runs it. */
export interface HostedAgent {
  agent: typeof agents.$inferSelect;
  gateway: GatewayRow;
}

/** Returns an agent of a board that the admin may read, or the main agent of one of the organization's gateways. */
export async function readableAgent(ctx: Context<Admin>, agent_id: string): Promise<HostedAgent> {
  const [found] = await ctx.db
    .select({ agent: getTableColumns(agents), gateway: getTableColumns(gateways) })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .leftJoin(boards, eq(boards.id, agents.board_id))
    .where(
      and(
        eq(agents.id, agent_id),
        eq(gateways.organization_id, ctx.actor.active.organization_id),
        or(isNull(agents.board_id), conditionOf(readableBoards(ctx.actor))),
      ),
    );
  if (!found) throw notFound();
  return found;
}

/**
 * Returns an agent that the admin may change: on a board with write access, or the main agent of one of the organization's
 * gateways.
 */
export async function agentFor(ctx: Context<Admin>, agent_id: string): Promise<HostedAgent> {
  const found = await findAgentFor(ctx, agent_id);
  if (!found) throw notFound();
  return found;
}

/**
 * Works like `agentFor`, but returns null if no organization has such an agent. Throws `not_found` for an agent of another
 * organization.
 */
export async function findAgentFor(ctx: Context<Admin>, agent_id: string): Promise<HostedAgent | null> {
  const found = await findAgent(ctx, agent_id, ctx.actor.active.organization_id);
  if (!found) {
    if (await hasAgent(ctx, agent_id)) throw notFound();
    return null;
  }
  if (found.agent.board_id) await boardFor(ctx, found.agent.board_id, "write");
  else requireKeyForAllBoards(ctx.actor);
  return found;
}

/** Finds an agent of the organization. Returns null if there is none. */
export async function findAgent(ctx: Context, agent_id: string, organization_id: string): Promise<HostedAgent | null> {
  const [found] = await selectHosted(ctx, and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
  return found ?? null;
}

/** Returns whether any organization has an agent with this id. */
export async function hasAgent(ctx: Context, agent_id: string): Promise<boolean> {
  const [row] = await ctx.db.select({ id: agents.id }).from(agents).where(eq(agents.id, agent_id));
  return row !== undefined;
}

/** Returns an agent of the board. Throws `not_found`. */
export async function getBoardAgent(ctx: Context<Agent>, board: BoardRow, agent_id: string): Promise<HostedAgent> {
  const found = await findBoardAgent(ctx, board, agent_id);
  if (!found) throw notFound();
  return found;
}

/** Finds an agent of the board. Returns null if there is none. */
export async function findBoardAgent(ctx: Context<Agent>, board: BoardRow, agent_id: string): Promise<HostedAgent | null> {
  const isOnBoard = and(eq(agents.board_id, board.id), eq(gateways.organization_id, board.organization_id));
  const [found] = await selectHosted(ctx, and(eq(agents.id, agent_id), isOnBoard));
  return found ?? null;
}

/** Returns an agent of the lead's board. Throws `not_found`. */
export const getAgentForLead = async (ctx: Context<Lead>, board_id: string, agent_id: string): Promise<HostedAgent> =>
  getBoardAgent(ctx, await boardFor(ctx, board_id, "write"), agent_id);

/** Locks the board before its agents, in the same order as the removal of a board. */
export async function lockBoardRow(
  ctx: Context,
  { agent: { board_id }, gateway: { organization_id } }: HostedAgent,
): Promise<void> {
  if (board_id === null) return;
  const isBoard = and(eq(boards.id, board_id), eq(boards.organization_id, organization_id));
  await ctx.db.select({ id: boards.id }).from(boards).where(isBoard).for("key share");
}

/** Locks the agent until the transaction ends. Returns null if it was deleted or moved to another board since it was read. */
export async function lockHostedAgent(ctx: Context, { agent, gateway }: HostedAgent): Promise<HostedAgent | null> {
  const sameBoard = agent.board_id === null ? isNull(agents.board_id) : eq(agents.board_id, agent.board_id);
  const unmoved = and(eq(agents.id, agent.id), sameBoard, eq(gateways.organization_id, gateway.organization_id));
  const [locked] = await selectHosted(ctx, and(unmoved, actingAs(ctx))).for("update", { of: agents });
  return locked ?? null;
}

const selectHosted = (ctx: Context, condition: SQL | undefined) =>
  ctx.db
    .select({ agent: agents, gateway: gateways })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(condition);

/**
 * Returns the session key of an agent, which is needed to send the agent a message or to read its files. Throws `invalid` if the
 * agent has no session.
 */
export function requireSessionKey({ openclaw_session_id }: { openclaw_session_id: string | null }): string {
  if (!openclaw_session_id) throw new DomainError("invalid", "Target agent has no session");
  return openclaw_session_id;
}
