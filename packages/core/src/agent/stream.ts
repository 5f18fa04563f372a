import { hash } from "node:crypto";
import { and, eq, getTableColumns, isNull, or, sql } from "drizzle-orm";
import * as z from "zod";
import { readSights, type Sight } from "../access.ts";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { cursorOf } from "../stream/cursor.ts";
import type { Granted } from "../stream/follower.ts";
import { Since } from "../stream/since.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { Id } from "../wire.ts";
import { AgentRead, toAgent } from "./agent.ts";
import { agents } from "./agent.sql.ts";

export const AgentStreamQuery = z.object({
  since: Since.describe("Start with what has changed from then on; now when absent. A Last-Event-ID header wins."),
  board_id: Id.optional().describe("Only agents of this board, and no main agents."),
});

export const AgentEvent = z
  .object({ agent: AgentRead.describe("The agent as it is now.") })
  .meta({ id: "AgentEvent", description: "The data of an `agent` event." });

/**
 * What changes about agents from now on: for each of these admins those of the boards that are open to them at this moment,
 * and the main agents of the organization's gateways unless a board is asked for.
 */
export async function followAgents(ctx: Context, admins: readonly Admin[], board_id?: string): Promise<Granted[]> {
  const sights = await readSights(ctx, admins, board_id);
  return admins.map(({ active }, index) => {
    const sight = sights[index]!;
    if (board_id !== undefined && sight.length === 0) return notFound();
    return sourceOf(active.organization_id, sight, board_id === undefined);
  });
}

const order = { tx: agents.change_tx, seq: agents.change_seq, at: agents.updated_at };

const sourceOf = (organization_id: string, sight: Sight, withMains: boolean): Source => ({
  key: `agents ${organization_id} ${withMains} ${sight === "all" ? sight : hash("sha256", sight.join(), "base64url")}`,
  event: "agent",
  async read(ctx, window) {
    const onThese = sight === "all" ? undefined : sql`${agents}.board_id = any(${sql.param([...sight])}::uuid[])`;
    const isMain = withMains ? isNull(agents.board_id) : undefined;
    const rows = await ctx.db
      .select(getTableColumns(agents))
      .from(agents)
      .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
      .where(and(eq(gateways.organization_id, organization_id), onThese && or(onThese, isMain), within(window, order)))
      .orderBy(...inOrder(window, order))
      .limit(window.limit);
    return rows.map((row) => ({
      id: row.id,
      cursor: cursorOf(row.change_tx, row.change_seq),
      data: { agent: toAgent(row, ctx.now()) },
    }));
  },
});
