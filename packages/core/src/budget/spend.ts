import { sql } from "drizzle-orm";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { budget_spending, budgets } from "../schema/budget.sql.ts";
import { changedColumns, type ReachedBudget, selectReached } from "./reached.ts";

/** The task and board that usage counts toward; null for usage without a task. */
interface Place {
  board_id: string | null;
  task_id: string | null;
}

/**
 * The maximum wait for a lock, in milliseconds. It is shorter than PostgreSQL's `deadlock_timeout` of one second, after which
 * PostgreSQL would end a deadlock by aborting one of the transactions.
 */
const TASK_LOCK_MS = 200;

const agentValues = ({ actor }: Context<Agent>) => ({ organization_id: actor.organization_id, agent_id: actor.agent_id });

const budgetsOf = sql`budgets_of(${sql.placeholder("organization_id")}::uuid, place.board_id,
  ${sql.placeholder("agent_id")}::uuid, place.task_id)`;

const locking = preparedQuery(
  () => sql`
    with place as (
      select * from jsonb_to_recordset(${sql.placeholder("places")}::jsonb) as place(board_id uuid, task_id uuid)
    ), found as materialized (
      select array_agg(distinct budget.id) as ids from place cross join lateral ${budgetsOf} as budget
    )
    select lock_budgets(ids, ${sql.placeholder("now")}::timestamptz), set_config('lock_timeout', ${sql.raw(`'${TASK_LOCK_MS}'`)}, true)
    from found where ids is not null`,
);

/**
 * Locks the budgets that usage on these tasks and boards counts toward. Call it first in a transaction, before tasks are locked.
 * When an agent takes a task, the task is locked before the budgets. So that the two do not deadlock, this transaction waits only
 * briefly for tasks, and is repeated if it does not get them.
 */
export async function lockBudgets(ctx: Context<Agent>, places: readonly Place[]): Promise<void> {
  const values = { ...agentValues(ctx), now: ctx.now().toISOString(), places: JSON.stringify(places) };
  await locking(ctx.db).execute(values);
}

interface Spent extends Place {
  total_tokens: number;
  cost_usd: string | null;
}

const reaches = (share: ReturnType<typeof sql>) => sql`(
  coalesce(spending.cost_usd + added.cost_usd >= budget.limit_cost_usd * ${share}, false)
  or coalesce(spending.total_tokens + added.total_tokens >= budget.limit_total_tokens * ${share}, false))`;

const spending = preparedQuery(
  () => sql`
    with place as (
      select * from jsonb_to_recordset(${sql.placeholder("spent")}::jsonb)
        as place(board_id uuid, task_id uuid, total_tokens bigint, cost_usd numeric)
    ), added as (
      select budget.id, sum(place.total_tokens)::bigint as total_tokens, coalesce(sum(place.cost_usd), 0) as cost_usd
      from place cross join lateral ${budgetsOf} as budget group by budget.id
    ), changed as (
      update ${budget_spending} as spending set
        cost_usd = spending.cost_usd + added.cost_usd, total_tokens = spending.total_tokens + added.total_tokens,
        warned = spending.warned or ${reaches(sql`budget.warn_at::numeric`)},
        exhausted = spending.exhausted or ${reaches(sql`1`)}
      from added join ${budgets} as budget on budget.id = added.id where spending.budget_id = added.id
      returning ${changedColumns}
    ) ${selectReached}`,
);

/** Adds what was spent to the locked budgets. Returns the budgets that have reached their warning or limit, now or earlier. */
export async function spend(ctx: Context<Agent>, spent: readonly Spent[]): Promise<ReachedBudget[]> {
  if (spent.length === 0) return [];
  const rows = spent.map(({ board_id, task_id, total_tokens, cost_usd }) => ({ board_id, task_id, total_tokens, cost_usd }));
  return rowsOf<ReachedBudget>(await spending(ctx.db).execute({ ...agentValues(ctx), spent: JSON.stringify(rows) }));
}
