import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { tasks } from "../schema/task.sql.ts";

interface Spender {
  organization_id: SQLWrapper;
  board_id: SQLWrapper;
  agent_id: SQLWrapper;
  now: SQLWrapper;
}

/**
 * Returns the lateral query `room` with the columns `has_budgets` and `has_room` of an agent. If the organization has no budgets,
 * the query costs one index look-up. `offset 0` keeps PostgreSQL from running the query again at each use.
 */
export const roomOf = ({ organization_id, board_id, agent_id, now }: Spender): SQL => sql`(
  select found.has_budgets, not found.has_budgets
    or has_room_for_run(${organization_id}, ${board_id}, ${agent_id}, ${now}::timestamptz) as has_room
  from (select coalesce((select true from ${budgets} where ${budgets.organization_id} = ${organization_id} limit 1), false)
    as has_budgets) as found offset 0) as room`;

/**
 * Returns a condition on `tasks`: whether the budgets allow the agent to start a run on the task, including the reserve of that
 * run. The query must join `roomOf`. The condition avoids `exists`, for which PostgreSQL may hash the budgets of all
 * organizations.
 */
export const hasRoom = (now: SQLWrapper): SQL => sql`(not room.has_budgets or room.has_room and coalesce((
  select false from ${budgets} as budget join ${budget_spending} as spending on spending.budget_id = budget.id
  where budget.task_id = ${tasks}.id and budget.on_limit = 'stop'
    and (spending.resets_at is null or spending.resets_at > ${now}::timestamptz) and (spending.exhausted
      or spending.cost_usd + coalesce(budget.reserve_cost_usd, 0) > budget.limit_cost_usd
      or spending.total_tokens + coalesce(budget.reserve_total_tokens, 0) > budget.limit_total_tokens) limit 1), true))`;
