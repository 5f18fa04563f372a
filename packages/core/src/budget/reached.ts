import { type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import type { Reached } from "./announce.ts";

/** A budget that has reached its warning or limit. */
export interface ReachedBudget extends Reached {
  scope: "organization" | "board" | "agent" | "task";
  board_id: string | null;
  agent_id: string | null;
  task_id: string | null;
  on_limit: "stop" | "warn";
}

/** Whether running runs under the budget have to stop. */
export const isStopping = ({ is_spent, on_limit }: ReachedBudget): boolean => is_spent && on_limit === "stop";

/** What a statement returns from an update of `spending`, as its part `changed`. */
export const changedColumns = sql`budget.*, spending.warned, spending.exhausted,
  coalesce(spending.cost_usd >= budget.limit_cost_usd, false)
    or coalesce(spending.total_tokens >= budget.limit_total_tokens, false) as is_spent`;

/** Selects the budgets of `changed` that have reached their warning or limit. */
export const selectReached = sql`
  select changed.id, changed.scope, changed.board_id, changed.agent_id, changed.task_id, changed.on_limit, changed.is_spent,
    changed.warned and not before.warned as now_warned, changed.exhausted and not before.exhausted as now_exhausted
  from changed join ${budget_spending} as before on before.budget_id = changed.id
  where changed.warned or changed.exhausted`;

/**
 * Stores whether a created or changed budget has reached its warning and its limit, and returns the budget if it has reached one
 * of them. A raised limit is announced again when it is reached. Like a usage report, the function first locks the spending and
 * begins a new period if one is due.
 */
export async function markReached(ctx: Context, budget_id: string): Promise<ReachedBudget[]> {
  await ctx.db.execute(sql`select lock_budgets(array[${budget_id}::uuid], ${toTimestamp(ctx.now())})`);
  const reaches = (share: SQL) => sql`(coalesce(spending.cost_usd >= budget.limit_cost_usd * ${share}, false)
    or coalesce(spending.total_tokens >= budget.limit_total_tokens * ${share}, false)
    or coalesce(spending.runs >= budget.limit_runs * ${share}, false))`;
  const result = await ctx.db.execute(sql`
    with changed as (
      update ${budget_spending} as spending set warned = ${reaches(sql`budget.warn_at::numeric`)}, exhausted = ${reaches(sql`1`)}
      from ${budgets} as budget where budget.id = spending.budget_id and budget.id = ${budget_id}
      returning ${changedColumns}
    ) ${selectReached}`);
  return rowsOf<ReachedBudget>(result);
}
