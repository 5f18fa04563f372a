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

/** Checks whether the budgets that stop runs are spent for all boards and tasks of the agent, so that it cannot start any run. */
export async function isOutOfBudget(ctx: Context, { id, organization_id, board_id }: Spender): Promise<boolean> {
  const found = await ctx.db.execute(sql`
    select exists (
      select 1 from budgets_of(${organization_id}::uuid, ${board_id}::uuid, ${id}::uuid, null) as budget
      join ${budget_spending} as spending on spending.budget_id = budget.id
      where budget.on_limit = 'stop' and spending.exhausted
        and (spending.resets_at is null or spending.resets_at > ${toTimestamp(ctx.now())})) as is_out`);
  return rowsOf<{ is_out: boolean }>(found)[0]!.is_out;
}
