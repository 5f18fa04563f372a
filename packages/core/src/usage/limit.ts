import { announceBudgets } from "../budget/announce.ts";
import { requireScope } from "../budget/access.ts";
import type { Budget } from "../budget/budget.ts";
import type { CreateBudget, UpdateBudget } from "../budget/input.ts";
import { isStopping, type ReachedBudget } from "../budget/reached.ts";
import { auditBudget } from "../budget/record.ts";
import { changeBudget, insertBudget, readBudget } from "../budget/store.ts";
import type { Agent, Member, User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { stopRunsUnder } from "./stop.ts";

/**
 * Announces budgets that have reached their warning or limit, and stops the runs under spent budgets, in the transaction of the
 * report or change. `spent` names the boards on which the reported usage occurred.
 */
export async function enforceBudgets(
  ctx: Context<User | Agent>,
  organization_id: string,
  reached: readonly ReachedBudget[],
  spent: readonly { board_id: string | null }[] = [],
): Promise<void> {
  await announceBudgets(ctx, organization_id, reached, spent);
  const stopping = reached.filter(isStopping);
  if (stopping.length > 0) await stopRunsUnder(ctx, organization_id, stopping);
}

/** Creates a budget. Earlier usage does not count, but a limit of zero is reached at once. */
export async function createBudget(ctx: Context<Member>, input: CreateBudget): Promise<Budget> {
  const { organization_id } = ctx.actor.active;
  const { scope_id = organization_id, ...fields } = input;
  const place = await requireScope(ctx, fields.scope, scope_id);
  return transaction(ctx, async (ctx) => {
    const { budget, reached } = await insertBudget(ctx, organization_id, { ...fields, ...place });
    await enforceBudgets(ctx, organization_id, reached);
    await auditBudget(ctx, "budget.created", { after: budget });
    return reached.length > 0 ? readBudget(ctx, organization_id, budget.id) : budget;
  });
}

/**
 * Changes a budget. If usage has already reached the new limit, the change has the effects of a usage report that reaches a
 * limit.
 */
export function updateBudget(ctx: Context<Member>, budget_id: string, input: UpdateBudget): Promise<Budget> {
  return transaction(ctx, async (ctx) => {
    const { budget, reached, before } = await changeBudget(ctx, budget_id, input);
    if (before === null) return budget;
    await enforceBudgets(ctx, budget.organization_id, reached);
    await auditBudget(ctx, "budget.updated", { before, after: budget });
    return reached.length > 0 ? readBudget(ctx, budget.organization_id, budget_id) : budget;
  });
}
