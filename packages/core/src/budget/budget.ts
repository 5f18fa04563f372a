import { getTableColumns, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { agents } from "../schema/agent.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { BUDGET_PERIODS, BUDGET_SCOPES, budget_spending, budgets, ON_LIMIT } from "../schema/budget.sql.ts";
import { organizations } from "../schema/organization.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { CostUsd } from "../values/cost.ts";
import { Id, Instant, Integer, lazyObject, MAX_INTEGER, objectCheck } from "../values/wire.ts";

const MAX_TOKENS = 1_000_000_000_000;
const tokens = (min: number) => Integer(min, MAX_TOKENS).nullable();

const limits = {
  cost_usd: CostUsd.nullable().describe("US dollars as the providers report them; null for no limit."),
  total_tokens: tokens(0).describe("Tokens that models read and write; null for no limit."),
};

export const BudgetLimit = lazyObject(() => ({
  cost_usd: limits.cost_usd.optional(),
  total_tokens: limits.total_tokens.optional(),
  runs: Integer(0, MAX_INTEGER).nullable().optional().describe("Runs that agents begin; null for no limit."),
}));

export const BudgetReserve = lazyObject(() => ({
  cost_usd: CostUsd.nullable().optional().describe("US dollars to set aside for each running run, or null."),
  total_tokens: tokens(0).optional().describe("Tokens to set aside for each running run, or null."),
}));

/** The budget that a new task can be given. */
export const TaskBudget = lazyObject(() => ({
  cost_usd: limits.cost_usd.optional(),
  total_tokens: limits.total_tokens.optional(),
}))
  .check(
    objectCheck(({ cost_usd, total_tokens }, fail) => {
      if ((cost_usd ?? null) === null && (total_tokens ?? null) === null) fail("cost_usd", "a budget needs a limit");
    }),
  )
  .meta({ id: "TaskBudget", description: "Limits what all runs on the task may spend together; at the limit they are stopped." });
export type TaskBudget = z.infer<typeof TaskBudget>;

const sumsOf = (text: string) => ({
  cost_usd: z.string().describe(`US dollars ${text}.`),
  total_tokens: z.int().describe(`Tokens ${text}.`),
});

export const Budget = lazyObject(() => ({
  id: Id.describe("Id of the budget."),
  organization_id: Id.describe("Organization that the budget belongs to."),
  scope: z.enum(BUDGET_SCOPES).describe("What the budget is for."),
  scope_id: Id.describe("Id of the organization, board, agent or task."),
  scope_name: z.string().describe("Name of the organization, board or agent, or title of the task."),
  board_id: Id.nullable().describe("The board, or the board of the task; null for the organization and for agents."),
  period: z.enum(BUDGET_PERIODS).describe("The time after which spending starts from zero again; `total` means never."),
  timezone: z.string().describe("IANA name of the zone in which days and months begin."),
  limit: z
    .object({
      cost_usd: z.string().nullable().describe("US dollars; null for no limit."),
      total_tokens: z.int().nullable().describe("Tokens; null for no limit."),
      runs: z.int().nullable().describe("Runs; null for no limit."),
    })
    .describe("What may be spent in a period."),
  reserve: z
    .object({
      cost_usd: z.string().nullable().describe("US dollars to set aside for each running run, or null."),
      total_tokens: z.int().nullable().describe("Tokens to set aside for each running run, or null."),
    })
    .describe("What is set aside for each running run."),
  warn_at: z.number().describe("The share of a limit at which it warns."),
  on_limit: z.enum(ON_LIMIT).describe("`stop` ends runs at the limit and gives out no task; `warn` only announces it."),
  spent: z
    .object({ ...sumsOf("of this period"), runs: z.int().describe("Runs that agents began in this period.") })
    .describe("What was spent since the period or the budget began."),
  reserved: z.object(sumsOf("set aside for running runs")).describe("What is set aside now."),
  state: z
    .enum(["ok", "warned", "exhausted"])
    .describe("Whether `spent` has reached a limit, or the share of a limit at which it warns."),
  resets_at: Instant.nullable().describe("When the period ends; null when it does not."),
  created_at: Instant.describe("When the budget was created. Earlier usage does not count."),
  updated_at: Instant.describe("When the budget last changed."),
})).meta({ id: "Budget", description: "What an organization, a board, an agent or a task may spend." });
export type Budget = z.infer<typeof Budget>;

const text = (value: SQL) => sql<string>`trim_scale(${value})::text`;
const textOrNull = (value: SQL) => sql<string | null>`trim_scale(${value})::text`;

/** The columns that `toBudget` needs. They use the placeholder `now`, and the statement must join `budget_spending`. */
export const budgetColumns = {
  ...getTableColumns(budgets),
  limit_cost_usd: textOrNull(sql`${budgets.limit_cost_usd}`),
  reserve_cost_usd: textOrNull(sql`${budgets.reserve_cost_usd}`),
  spent_cost_usd: text(sql`${budget_spending.cost_usd}`),
  spent_total_tokens: budget_spending.total_tokens,
  spent_runs: budget_spending.runs,
  resets_at: budget_spending.resets_at,
  reserved: sql<{ cost_usd: string; total_tokens: number }>`(
    select json_build_object('cost_usd', trim_scale(reserved.cost_usd)::text, 'total_tokens', reserved.total_tokens)
    from budget_reserved(${budgets}) as reserved)`,
  scope_name: sql<string>`case ${budgets.scope}
    when 'board' then (select named.name from ${boards} as named where named.id = ${budgets.board_id})
    when 'agent' then (select named.name from ${agents} as named where named.id = ${budgets.agent_id})
    when 'task' then (select named.title from ${tasks} as named where named.id = ${budgets.task_id})
    else (select named.name from ${organizations} as named where named.id = ${budgets.organization_id}) end`,
  on_board_id: sql<string | null>`coalesce(${budgets.board_id},
    (select task.board_id from ${tasks} as task where task.id = ${budgets.task_id}))`,
  /** The end of the current period, if the stored period is over. */
  next_reset: sql<
    string | null
  >`to_char(budget_period_end(${budgets.period}, ${budgets.timezone}, ${sql.placeholder("now")}::timestamptz)
    at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

type Row = Omit<typeof budgets.$inferSelect, "limit_cost_usd" | "reserve_cost_usd"> & {
  limit_cost_usd: string | null;
  reserve_cost_usd: string | null;
  spent_cost_usd: string;
  spent_total_tokens: number;
  spent_runs: number;
  resets_at: Date | null;
  reserved: { cost_usd: string; total_tokens: number };
  scope_name: string;
  on_board_id: string | null;
  next_reset: string | null;
};

const EXACT_DIGITS = 15;
/** Removes the rounding error of a product, so that the state agrees with the exact comparison in the database. */
const withoutRounding = (product: number): number => Number(product.toPrecision(EXACT_DIGITS));

export function toBudget(row: Row, now: Date): Budget {
  const isOver = row.resets_at !== null && row.resets_at <= now;
  const spent = isOver
    ? { cost_usd: "0", total_tokens: 0, runs: 0 }
    : { cost_usd: row.spent_cost_usd, total_tokens: row.spent_total_tokens, runs: row.spent_runs };
  const limit = { cost_usd: row.limit_cost_usd, total_tokens: row.limit_total_tokens, runs: row.limit_runs };
  const reaches = (share: number) =>
    (["cost_usd", "total_tokens", "runs"] as const).some(
      (name) => limit[name] !== null && Number(spent[name]) >= withoutRounding(Number(limit[name]) * share),
    );
  return {
    id: row.id,
    organization_id: row.organization_id,
    scope: row.scope,
    scope_id: row.board_id ?? row.agent_id ?? row.task_id ?? row.organization_id,
    scope_name: row.scope_name,
    board_id: row.on_board_id,
    period: row.period,
    timezone: row.timezone,
    limit,
    reserve: { cost_usd: row.reserve_cost_usd, total_tokens: row.reserve_total_tokens },
    warn_at: row.warn_at,
    on_limit: row.on_limit,
    spent,
    reserved: row.reserved,
    state: reaches(1) ? "exhausted" : reaches(row.warn_at) ? "warned" : "ok",
    resets_at: isOver ? row.next_reset : (row.resets_at?.toISOString() ?? null),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
