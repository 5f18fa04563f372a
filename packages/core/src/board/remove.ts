import { and, asc, eq } from "drizzle-orm";
import { boardFor } from "../access.ts";
import type { User } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import { enqueueCleanup } from "../agent/cleanup.ts";
import type { Context } from "../context.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { boards } from "./board.sql.ts";
import { lockBoard } from "./lock.ts";

/**
 * Removes a board, and by cascade everything on it (contract boards.md §4). The host is not waited for: it forgets the
 * agents by jobs of the same transaction.
 */
export function removeBoard(ctx: Context<User>, board_id: string): Promise<void> {
  return transactionGivingWay(ctx, async (ctx) => {
    const board = await lockBoard(ctx, await boardFor(ctx, board_id, "write"));
    const bound = await ctx.db
      .select({ agent: agents, gateway: gateways })
      .from(agents)
      .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
      .where(eq(agents.board_id, board.id))
      .orderBy(asc(agents.created_at), asc(agents.id));
    // A clean-up that is given up is told to the organization: its board has no events any more.
    for (const { agent, gateway } of bound)
      await enqueueCleanup(ctx, gateway, { ...agent, board_id: null }, { gateway_stays: true });
    await ctx.db.delete(boards).where(and(eq(boards.id, board.id), eq(boards.organization_id, board.organization_id)));
  });
}
