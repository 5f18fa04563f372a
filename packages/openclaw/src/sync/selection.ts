import { and, asc, eq, isNull, or, sql } from "drizzle-orm";
import { agents } from "@board/core/schema/agent.sql";
import { hostLane, toEntryId } from "@board/core/values/session-key";
import { createMainAgentIfMissing } from "../provisioning/main-agent.ts";
import { mintToken } from "@board/core/agent/token";
import { boards } from "@board/core/schema/board.sql";
import { type Context, transaction } from "@board/core/context/context";
import { findEntry, type HostEntry } from "../host/entries.ts";
import { gateways } from "@board/core/schema/gateway.sql";
import type { GatewayRow } from "@board/core/gateway/target";
import type { SyncQuery } from "./result.ts";

export interface SelectedAgent {
  id: string;
  name: string;
  board_id: string | null;
  openclaw_session_id: string | null;
  agent_token_hash: string | null;
}

/** An agent of a run, with decisions that were made when the run started, so that repeated attempts use the same decisions. */
export interface SyncTarget {
  run_agent_id: string;
  job_id: string;
  agent: SelectedAgent;
  is_main: boolean;
  lane: string;
  /**
   * The new token. It is set when tokens are rotated, and otherwise only for a main agent whose present token may be unreadable.
   */
  token: string | null;
  /** The host has no entry of the agent, and the sync creates it. */
  first: boolean;
}

/** Creates the main agent of the gateway if it is missing. Returns whether it was created. */
export function ensureMainAgent(ctx: Context, gateway: GatewayRow): Promise<boolean> {
  return transaction(ctx, async (ctx) => {
    // The lock keeps the gateway from being deleted until the transaction ends.
    const [row] = await ctx.db.select({ id: gateways.id }).from(gateways).where(eq(gateways.id, gateway.id)).for("key share");
    return row ? createMainAgentIfMissing(ctx, gateway) : false;
  });
}

export async function isBoardOfGateway(ctx: Context, gateway: GatewayRow, board_id: string): Promise<boolean> {
  const isOwnBoard = and(
    eq(boards.id, board_id),
    eq(boards.gateway_id, gateway.id),
    eq(boards.organization_id, gateway.organization_id),
  );
  const [board] = await ctx.db.select({ id: boards.id }).from(boards).where(isOwnBoard);
  return board !== undefined;
}

/** Selects the board agents that match the query, oldest first, and the main agent of the gateway. */
export async function selectAgents(
  ctx: Context,
  gateway: GatewayRow,
  { lead_only, board_id }: SyncQuery,
): Promise<{ agents: SelectedAgent[]; main: SelectedAgent | null }> {
  const isSelectedBoardAgent = and(
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
    .where(and(eq(agents.gateway_id, gateway.id), or(isNull(agents.board_id), isSelectedBoardAgent)))
    .orderBy(sql`${agents.board_id} is null`, asc(agents.created_at), asc(agents.id));
  return { agents: rows.filter((row) => row.board_id !== null), main: rows.find((row) => row.board_id === null) ?? null };
}

/** Decides what the run does with an agent. `is_new_main` means that the main agent was created just now. */
export function toSyncTarget(
  gateway: GatewayRow,
  agent: SelectedAgent,
  { rotate_tokens, is_new_main, entries }: { rotate_tokens: boolean; is_new_main: boolean; entries: readonly HostEntry[] },
): SyncTarget {
  const is_main = agent.board_id === null;
  const is_missing = findEntry(entries, toEntryId(agent)) === undefined;
  const may_need_token = is_main && (is_new_main || is_missing || agent.agent_token_hash === null);
  return {
    run_agent_id: crypto.randomUUID(),
    job_id: crypto.randomUUID(),
    agent,
    is_main,
    lane: hostLane(gateway.id, agent.openclaw_session_id ?? agent.name),
    token: rotate_tokens || may_need_token ? mintToken() : null,
    first: is_missing && (rotate_tokens || is_main),
  };
}
