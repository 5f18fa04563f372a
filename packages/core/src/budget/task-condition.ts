import { type SQL, sql } from "drizzle-orm";
import { toTimestamp } from "../db/timestamp.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { tasks } from "../schema/task.sql.ts";

/** Returns a condition on `tasks`: whether the task's own budget is spent and stops runs. */
export const hasSpentBudget = (now: Date): SQL => sql`exists (
  select 1 from ${budgets} as budget join ${budget_spending} as spending on spending.budget_id = budget.id
  where budget.task_id = ${tasks}.id and budget.on_limit = 'stop' and spending.exhausted
    and (spending.resets_at is null or spending.resets_at > ${toTimestamp(now)}))`;
