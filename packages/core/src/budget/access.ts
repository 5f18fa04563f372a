import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import type { Filter } from "../lists/filter.ts";
import { boardFor } from "../organization/access.ts";
import { isAdminBeyondBoards, isGranted, mayWriteAll } from "../organization/board-rights.ts";
import { agents } from "../schema/agent.sql.ts";
import { type BUDGET_SCOPES, budgets } from "../schema/budget.sql.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { notFound } from "../values/errors.ts";

export type Scope = (typeof BUDGET_SCOPES)[number];

/** The board, agent or task that a budget limits. All are null for the budget of the organization. */
export interface Place {
  board_id: string | null;
  agent_id: string | null;
  task_id: string | null;
}

/**
 * The board that a budget belongs to, directly or through its task or agent. Null for budgets of the organization and of main
 * agents.
 */
const onBoard: SQL = sql`coalesce(${budgets.board_id},
  (select task.board_id from ${tasks} as task where task.id = ${budgets.task_id}),
  (select agent.board_id from ${agents} as agent where agent.id = ${budgets.agent_id}))`;

/**
 * Returns a filter for the budgets that the member may change: the budgets of boards with write access, and of tasks on these
 * boards. Admins also get the budgets of agents on these boards. Budgets without a board are only for admins, and not for keys
 * that are limited to some boards.
 */
export function visibleBudgets({ actor }: Context<Member>): Filter {
  const { organization_id, member_id, role } = actor.active;
  const isAdmin = role !== "member";
  const seesBoardless = isAdminBeyondBoards(actor);
  const writesAll = mayWriteAll(actor);
  const values = writesAll ? { organization_id } : { organization_id, member_id };
  return {
    name: `of ${writesAll ? "all" : "granted"} boards for ${seesBoardless ? "an admin" : isAdmin ? "their key" : "a member"}`,
    values,
    condition: (of) => {
      const onOwnBoard = writesAll ? sql`true` : isGranted(of("member_id") as string, "write", onBoard);
      return and(
        eq(budgets.organization_id, of("organization_id") as string),
        isAdmin ? undefined : sql`${budgets.scope} in ('board', 'task')`,
        seesBoardless ? sql`(${onBoard} is null or ${onOwnBoard})` : onOwnBoard,
      )!;
    },
  };
}

const NOWHERE: Place = { board_id: null, agent_id: null, task_id: null };

/**
 * Checks that the member may set a budget. Every member may set budgets for boards with write access and for their tasks. Only
 * admins may set budgets for agents or the organization. Throws `forbidden` for a board that the member may only read, and
 * otherwise `not_found`.
 */
export async function requireScope(ctx: Context<Member>, scope: Scope, scope_id: string): Promise<Place> {
  const { organization_id, role } = ctx.actor.active;
  if (scope === "board") {
    await requireBoard(ctx, scope_id);
    return { ...NOWHERE, board_id: scope_id };
  }
  if (scope === "task") {
    const [task] = await ctx.db.select({ board_id: tasks.board_id }).from(tasks).where(eq(tasks.id, scope_id));
    if (!task) throw notFound();
    await requireBoard(ctx, task.board_id);
    return { ...NOWHERE, task_id: scope_id };
  }
  if (role === "member") throw notFound();
  if (scope === "agent") {
    await requireAgent(ctx, organization_id, scope_id);
    return { ...NOWHERE, agent_id: scope_id };
  }
  if (scope_id !== organization_id || !isAdminBeyondBoards(ctx.actor)) throw notFound();
  return NOWHERE;
}

async function requireBoard(ctx: Context<Member>, board_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  if (board.organization_id !== ctx.actor.active.organization_id) throw notFound();
}

async function requireAgent(ctx: Context<Member>, organization_id: string, agent_id: string): Promise<void> {
  const [agent] = await ctx.db
    .select({ board_id: agents.board_id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
  if (!agent) throw notFound();
  if (agent.board_id !== null) await requireBoard(ctx, agent.board_id);
  else if (!isAdminBeyondBoards(ctx.actor)) throw notFound();
}
