import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { toTimestamp } from "../db/timestamp.ts";
import { budget_spending } from "../schema/budget.sql.ts";

interface Spender {
  id: string;
  organization_id: string;
  board_id: string | null;
}

/**
 * Checks whether the tokens or dollars of the agent's own budget, or of the budget of its board or organization, are spent, if that
 * budget stops runs. A limit of runs does not count, because work without a run does not use it.
 */
export async function isOutOfBudget(ctx: Context, { id, organization_id, board_id }: Spender): Promise<boolean> {
  const found = await ctx.db.execute(sql`
    select exists (
      select 1 from budgets_of(${organization_id}::uuid, ${board_id}::uuid, ${id}::uuid, null) as budget
      join ${budget_spending} as spending on spending.budget_id = budget.id
      where budget.on_limit = 'stop' and (spending.resets_at is null or spending.resets_at > ${toTimestamp(ctx.now())})
        and (spending.cost_usd >= budget.limit_cost_usd or spending.total_tokens >= budget.limit_total_tokens)) as is_out`);
  return rowsOf<{ is_out: boolean }>(found)[0]!.is_out;
}
