import { type SQL, sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { instant, isOneOf } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

const counter = () => bigint({ mode: "number" }).notNull();

/**
 * Creates the columns for amounts of usage. `total_tokens` is the sum of input and output tokens, which include cached and
 * reasoning tokens.
 */
const amounts = () => ({
  input_tokens: counter(),
  output_tokens: counter(),
  cached_input_tokens: counter(),
  reasoning_tokens: counter(),
  /** Null if nobody reported a price. The service never estimates one. */
  cost_usd: numeric(),
});

const organization = () => ({
  organization_id: uuid()
    .notNull()
    .references(() => organizations.id, { onDelete: "cascade" }),
});

/**
 * The usage reports of agents, kept for a week so that a repeated key counts only once. There are no foreign keys to agents,
 * boards, tasks and runs, because the costs must still be counted after these are removed.
 */
export const usage_entries = pgTable(
  "usage_entries",
  {
    agent_id: uuid().notNull(),
    key: text().notNull(),
    ...organization(),
    /** Null if the main agent of a gateway reports usage without a task. */
    board_id: uuid(),
    /** Null for usage without a task. */
    task_id: uuid(),
    run_id: uuid(),
    at: instant().notNull(),
    model: text(),
    ...amounts(),
    stored_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.agent_id, t.key] }),
    index("usage_entries_by_age").on(t.stored_at),
    index("usage_entries_by_organization").on(t.organization_id),
  ],
);

export const USAGE_DIMENSIONS = ["board", "agent", "task"] as const;
export const USAGE_SPANS = ["day", "month"] as const;

const none = sql`'00000000-0000-0000-0000-000000000000'::uuid`;

/**
 * The sums of all entries per UTC day and month, written in the transaction of the entries. Each entry is counted once per
 * dimension, so that a report reads few rows. The rows of boards, agents and tasks remain after these are removed.
 */
export const usage_counts = pgTable(
  "usage_counts",
  {
    ...organization(),
    dimension: text({ enum: USAGE_DIMENSIONS }).notNull(),
    span: text({ enum: USAGE_SPANS }).notNull(),
    /** The zero id if the row has no board, since a primary key cannot contain nulls. */
    board_id: uuid().notNull().default(none),
    start: date().notNull(),
    /** Rows of the dimension `agent` have an agent and a model. */
    agent_id: uuid().notNull().default(none),
    /** Rows of the dimension `task` have a task. */
    task_id: uuid().notNull().default(none),
    /** The name of the model; empty if the row has none. */
    model: text().notNull().default(""),
    is_idle: boolean().notNull(),
    name: text().notNull(),
    entries: integer().notNull(),
    /** Runs whose first usage entry is counted in this row. */
    runs: integer().notNull(),
    ...amounts(),
  },
  (t) => [
    primaryKey({
      name: "usage_counts_pk",
      columns: [t.organization_id, t.dimension, t.span, t.start, t.board_id, t.agent_id, t.task_id, t.model, t.is_idle],
    }),
    // This index is for the removal of old rows. It is an index on an expression, because PostgreSQL would otherwise use it for
    // reports instead of the primary key, and read the rows of all dimensions and organizations.
    index("usage_counts_by_age").on(sql`(${t.start} + 0)`).concurrently(),
    // This index is for the sums of the few tasks on a page. It does not contain the sums, so that updating them stays cheap.
    index("usage_counts_by_task").on(t.organization_id, t.task_id, t.span, t.start).where(sql`dimension = 'task'`).concurrently(),
    check("usage_counts_dimension", isOneOf(t.dimension, USAGE_DIMENSIONS)),
    check("usage_counts_span", isOneOf(t.span, USAGE_SPANS)),
  ],
);

/** The start of a row's day or month, as the expression of the index by age. */
export const startOfUsageCounts: SQL = sql`start + 0`;

/**
 * The sums of each task over all days, so that a page can find the most expensive tasks of a year without adding up all days. If
 * all days of a task are within the requested range, its sum for that range is the sum in this row.
 */
export const usage_tasks = pgTable(
  "usage_tasks",
  {
    ...organization(),
    task_id: uuid().notNull(),
    board_id: uuid().notNull(),
    /** The first and the last UTC day with usage. */
    first_day: date().notNull(),
    last_day: date().notNull(),
    total_tokens: counter(),
    cost_usd: numeric(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.task_id] }),
    index("usage_tasks_by_cost").on(t.organization_id, t.cost_usd.desc().nullsLast(), t.total_tokens.desc(), t.task_id),
    index("usage_tasks_by_age").on(t.last_day),
  ],
);

/**
 * The names of models under which an organization's usage is counted. Their number is limited. All other models count as `other`.
 */
export const usage_models = pgTable("usage_models", { ...organization(), model: text().notNull() }, (t) => [
  primaryKey({ columns: [t.organization_id, t.model] }),
]);

/** What a host has reported about the use of a model in the agent's current session, from the day `since` on. */
export interface HostModelUsage {
  /** Empty if the host does not name the model. */
  model: string;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  /** The cost in dollars; 0 if the host knows no price. */
  cost: number;
}

/**
 * The host-reported usage of agents' sessions that has already been counted. Hosts report totals, so only the difference is
 * added.
 */
export const host_usage = pgTable("host_usage", {
  agent_id: uuid()
    .primaryKey()
    .references(() => agents.id, { onDelete: "cascade" }),
  /** The first day to ask the host for. What an agent used before it was first read is not counted as usage of the service. */
  since: date().notNull(),
  session_id: text().notNull().default(""),
  models: jsonb().$type<HostModelUsage[]>().notNull().default([]),
  /** Null until the host has answered. */
  read_at: instant(),
  /** The agent's last ended run at the time when the host was asked. */
  run_id: uuid(),
});
