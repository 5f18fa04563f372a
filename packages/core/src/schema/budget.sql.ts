import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, numeric, pgTable, real, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const BUDGET_SCOPES = ["organization", "board", "agent", "task"] as const;
export const BUDGET_PERIODS = ["day", "month", "total"] as const;
export const ON_LIMIT = ["stop", "warn"] as const;

/** What an organization, a board, an agent or a task may spend. */
export const budgets = pgTable(
  "budgets",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    scope: text({ enum: BUDGET_SCOPES }).notNull(),
    /** Only the column for the budget's scope is set; the others are null. */
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    agent_id: uuid().references(() => agents.id, { onDelete: "cascade" }),
    task_id: uuid().references(() => tasks.id, { onDelete: "cascade" }),
    period: text({ enum: BUDGET_PERIODS }).notNull(),
    timezone: text().notNull(),
    /** Null means no limit. */
    limit_cost_usd: numeric(),
    limit_total_tokens: bigint({ mode: "number" }),
    limit_runs: integer(),
    /** The amount that is reserved for each running run. */
    reserve_cost_usd: numeric(),
    reserve_total_tokens: bigint({ mode: "number" }),
    warn_at: real().notNull(),
    on_limit: text({ enum: ON_LIMIT }).notNull(),
    ...timestamps,
  },
  (t) => [
    index("budgets_by_organization").on(t.organization_id, t.created_at, t.id),
    index("budgets_of_organizations").on(t.organization_id).where(sql`scope = 'organization'`),
    index("budgets_by_board").on(t.board_id),
    index("budgets_by_agent").on(t.agent_id),
    index("budgets_by_task").on(t.task_id),
    check("budgets_scope", isOneOf(t.scope, BUDGET_SCOPES)),
    check("budgets_period", isOneOf(t.period, BUDGET_PERIODS)),
    check("budgets_on_limit", isOneOf(t.on_limit, ON_LIMIT)),
    check(
      "budgets_scope_id",
      sql`(${t.board_id} is not null) = (${t.scope} = 'board') and (${t.agent_id} is not null) = (${t.scope} = 'agent')
        and (${t.task_id} is not null) = (${t.scope} = 'task')`,
    ),
  ],
);

/**
 * What was spent in the current period. Reports and new runs lock this row, so that they agree on what is left. It is separate
 * from the budget, so that changing the budget and reporting usage do not wait for each other.
 */
export const budget_spending = pgTable("budget_spending", {
  budget_id: uuid()
    .primaryKey()
    .references(() => budgets.id, { onDelete: "cascade" }),
  /** The end of the period; null if there is none. After the end, the amounts count as zero until they are next written. */
  resets_at: instant(),
  cost_usd: numeric().notNull().default("0"),
  total_tokens: bigint({ mode: "number" }).notNull().default(0),
  runs: integer().notNull().default(0),
  /** Whether the budget has reached its warning and its limit in this period. Both are announced when they become true. */
  warned: boolean().notNull().default(false),
  exhausted: boolean().notNull().default(false),
});
