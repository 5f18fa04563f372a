import { and, asc, eq, sql } from "drizzle-orm";
import { boardFor } from "../organization/access.ts";
import type { User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { toCleanups } from "../agent/jobs.ts";
import { enqueueAll } from "../job/job.ts";
import type { Context } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { removePayloads } from "../webhook/payload-usage.ts";
import { boards } from "../schema/board.sql.ts";
import { lockBoard } from "./lock.ts";
import { recordAudit } from "../audit/record.ts";

/**
 * Removes a board and, by cascade, everything on it (docs/reference/boards.md#deleting-a-board). Jobs stored in the same
 * transaction remove its agents from their host later, so the caller does not wait for the host.
 */
export function removeBoard(ctx: Context<User>, board_id: string): Promise<void> {
  return withLockTimeoutRetry(ctx, async (ctx) => {
    const board = await lockBoard(ctx, await boardFor(ctx, board_id, "write"));
    const boardAgents = await ctx.db
      .select({ agent: agents, gateway: gateways })
      .from(agents)
      .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
      .where(eq(agents.board_id, board.id))
      .orderBy(asc(agents.created_at), asc(agents.id));
    // Clean-up events belong to the organization, because the events of the board are removed with it.
    const cleanups = boardAgents.flatMap(({ agent, gateway }) => toCleanups(gateway, { ...agent, board_id: null }));
    await enqueueAll(ctx, cleanups);
    await removePayloads(ctx, sql`board_id = ${board.id}`, sql`count(*)`);
    await ctx.db.delete(boards).where(and(eq(boards.id, board.id), eq(boards.organization_id, board.organization_id)));
    const { organization_id, name } = board;
    await recordAudit(ctx, "board.removed", { organization_id, target: board, before: { name } });
  });
}
