import { and, asc, eq, isNull, or, sql } from "drizzle-orm";
import { agents } from "../agent/agent.sql.ts";
import { hostAgentId, hostLane } from "../agent/host.ts";
import { createMainAgent } from "../agent/main-agent.ts";
import { mintToken } from "../agent/token.ts";
import { boards } from "../board/board.sql.ts";
import { type Context, transaction } from "../context.ts";
import type { HostEntry } from "../gateway/entries.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { GatewayRow } from "../gateway/target.ts";
import type { SyncQuery } from "./sync-result.ts";

export interface SelectedAgent {
  id: string;
  name: string;
  board_id: string | null;
  openclaw_session_id: string | null;
  agent_token_hash: string | null;
}

/** An agent of a run, and what was decided for it when the run began: a repeat must not decide otherwise. */
export interface SyncTarget {
  run_agent_id: string;
  job_id: string;
  agent: SelectedAgent;
  is_main: boolean;
  lane: string;
  /** A new token: for sure when tokens are rotated, otherwise for a main agent whose own cannot be read. */
  token: string | null;
  /** The host has nothing of the agent, and will have. */
  first: boolean;
}

/** Makes the main agent of the gateway when it is missing; true when it was. */
export function ensureMainAgent(ctx: Context, gateway: GatewayRow): Promise<boolean> {
  return transaction(ctx, async (ctx) => {
    // Until then the gateway cannot be removed.
    const own = eq(gateways.id, gateway.id);
    const [present] = await ctx.db.select({ id: gateways.id }).from(gateways).where(own).for("key share");
    return present ? createMainAgent(ctx, gateway) : false;
  });
}

export async function isBoardOf(ctx: Context, gateway: GatewayRow, board_id: string): Promise<boolean> {
  const own = and(
    eq(boards.id, board_id),
    eq(boards.gateway_id, gateway.id),
    eq(boards.organization_id, gateway.organization_id),
  );
  const [board] = await ctx.db.select({ id: boards.id }).from(boards).where(own);
  return board !== undefined;
}

/** The agents that are asked for, oldest first, and the main agent, which is last among them or, not asked for, null. */
export async function selectAgents(
  ctx: Context,
  gateway: GatewayRow,
  { lead_only, board_id }: SyncQuery,
): Promise<{ agents: SelectedAgent[]; main: SelectedAgent | null }> {
  const ofBoards = and(
    eq(boards.gateway_id, gateway.id),
    board_id === undefined ? undefined : eq(boards.id, board_id),
    lead_only ? eq(agents.is_board_lead, true) : undefined,
  );
  const rows = await ctx.db
    .select({
      id: agents.id,
      name: agents.name,
      board_id: agents.board_id,
      openclaw_session_id: agents.openclaw_session_id,
      agent_token_hash: agents.agent_token_hash,
    })
    .from(agents)
    .leftJoin(boards, eq(boards.id, agents.board_id))
    .where(and(eq(agents.gateway_id, gateway.id), or(isNull(agents.board_id), ofBoards)))
    .orderBy(sql`${agents.board_id} is null`, asc(agents.created_at), asc(agents.id));
  return { agents: rows.filter((row) => row.board_id !== null), main: rows.find((row) => row.board_id === null) ?? null };
}

export const entryIdOf = ({ openclaw_session_id, name }: SelectedAgent): string => hostAgentId(openclaw_session_id ?? name);

const isListed = (entries: readonly HostEntry[], id: string): boolean =>
  entries.some((entry) => entry.id.toLowerCase() === id.toLowerCase());

/** Decides what is done with an agent. `fresh` is a main agent that was made just now. */
export function toTargetOf(
  gateway: GatewayRow,
  agent: SelectedAgent,
  { rotates, fresh, entries }: { rotates: boolean; fresh: boolean; entries: readonly HostEntry[] },
): SyncTarget {
  const is_main = agent.board_id === null;
  const is_missing = !isListed(entries, entryIdOf(agent));
  const may_need_one = is_main && (fresh || is_missing || agent.agent_token_hash === null);
  return {
    run_agent_id: crypto.randomUUID(),
    job_id: crypto.randomUUID(),
    agent,
    is_main,
    lane: hostLane(gateway.id, agent.openclaw_session_id ?? agent.name),
    token: rotates || may_need_one ? mintToken() : null,
    first: is_missing && (rotates || is_main),
  };
}
