import { hash } from "node:crypto";
import { and, eq, getTableColumns, isNull, or, sql } from "drizzle-orm";
import { readVisibleBoards, type VisibleBoards } from "../organization/access.ts";
import type { Admin } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { notFound } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { ClientId } from "../stream/client-id.ts";
import { toCursor } from "../stream/cursor.ts";
import type { GrantResult } from "../stream/follower.ts";
import { Since } from "../stream/since.ts";
import { windowOrder, type Source, windowCondition } from "../stream/source.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { AgentRead, toAgent } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";

export const AgentStreamQuery = lazyObject(() => ({
  since: Since.describe("Send changes after this time; defaults to now. A Last-Event-ID header takes precedence."),
  client_id: ClientId,
  board_id: Id.optional().describe("Only agents of this board, without main agents."),
}));

export const AgentEvent = lazyObject(() => ({ agent: AgentRead.describe("The agent in its current state.") })).meta({
  id: "AgentEvent",
  description: "The data of an `agent` event.",
});

/**
 * Returns a source of agent changes for each admin. It covers the agents of boards that the admin may read now. Unless `board_id`
 * is given, it also covers the main agents of the organization's gateways.
 */
export async function followAgents(ctx: Context, admins: readonly Admin[], board_id?: string): Promise<GrantResult[]> {
  const sights = await readVisibleBoards(ctx, admins, board_id);
  return admins.map(({ active }, index) => {
    const sight = sights[index]!;
    if (board_id !== undefined && sight.length === 0) return notFound();
    return createAgentSource(active.organization_id, sight, board_id === undefined);
  });
}

const cursorColumns = { tx: agents.change_tx, seq: agents.change_seq, at: agents.updated_at };

const createAgentSource = (organization_id: string, sight: VisibleBoards, includeMain: boolean): Source => ({
  key: `agents ${organization_id} ${includeMain} ${sight === "all" ? sight : hash("sha256", sight.join(), "base64url")}`,
  organization_id,
  event: "agent",
  async read(ctx, window) {
    const isOnBoards = sight === "all" ? undefined : sql`${agents}.board_id = any(${sql.param([...sight])}::uuid[])`;
    const isMain = includeMain ? isNull(agents.board_id) : undefined;
    const rows = await ctx.db
      .select(getTableColumns(agents))
      .from(agents)
      .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
      .where(
        and(
          eq(gateways.organization_id, organization_id),
          isOnBoards && or(isOnBoards, isMain),
          windowCondition(window, cursorColumns),
        ),
      )
      .orderBy(...windowOrder(window, cursorColumns))
      .limit(window.limit);
    return rows.map((row) => ({
      id: row.id,
      cursor: toCursor(row.change_tx, row.change_seq),
      data: { agent: toAgent(row, ctx.now()) },
    }));
  },
});
