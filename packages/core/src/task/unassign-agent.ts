import { sql } from "drizzle-orm";
import { boards } from "../schema/board.sql.ts";
import type { CallerContext } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toUnassignEffects, type UnassignedTask } from "./effects.ts";
import { lostLease } from "./lease/lease-state.ts";
import { storeEffects } from "./store-effects.ts";
import { tasks } from "../schema/task.sql.ts";
import { chunk } from "../values/chunk.ts";

/** The boards on which a moved agent keeps its tasks: one board, or all boards of a gateway. */
type AgentScope = { board_id: string } | { gateway_id: string };

/** The maximum number of tasks whose effects one statement writes, because PostgreSQL limits the parameters of a statement. */
const BATCH_SIZE = 1_000;

/**
 * Unassigns the tasks of an agent that is being removed. For an agent that is being moved, only tasks outside `scope` are
 * unassigned (docs/reference/tasks.md#when-an-agent-leaves). The caller must have locked the agent, so that it gets no new tasks.
 */
export async function unassignAgent(
  ctx: CallerContext,
  agent: { id: string; organization_id: string },
  scope: AgentScope | null = null,
): Promise<void> {
  const keptBoards =
    scope === null ? null : "board_id" in scope ? sql`id = ${scope.board_id}` : sql`gateway_id = ${scope.gateway_id}`;
  // Boards are locked before tasks, and both in the order of their ids. The last select returns the tasks as they were before the
  // update.
  const found = await ctx.db.execute(sql`
    with home as materialized (
      select id from ${boards}
      where organization_id = ${agent.organization_id} ${keptBoards ? sql`and not (${keptBoards})` : sql``}
        and id in (select board_id from ${tasks} where assigned_agent_id = ${agent.id})
      order by id for key share),
    locked as materialized (
      select id, board_id, title, status, created_at from ${tasks}
      where assigned_agent_id = ${agent.id} and board_id in (select id from home)
      order by id for no key update),
    unassigned as (
      update ${tasks} as task set assigned_agent_id = null, updated_at = now(),
        status = case when locked.status = 'in_progress' then 'inbox' else locked.status end,
        in_progress_at = case when locked.status = 'in_progress' then null else task.in_progress_at end,
        ${lostLease}
      from locked where task.id = locked.id)
    select id, board_id, title, status as from_status from locked order by created_at, id`);
  const unassigned = rowsOf<UnassignedTask>(found);
  for (const batch of chunk(unassigned, BATCH_SIZE)) await storeEffects(ctx, toUnassignEffects(ctx.actor, agent, batch));
}
