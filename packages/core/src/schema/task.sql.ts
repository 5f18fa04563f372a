import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, numeric, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { id, instant, isOneOf, timestamps } from "./columns.ts";
import { users } from "./organization.sql.ts";
import { searchVector } from "./search-vector.ts";

export const TASK_STATUSES = ["inbox", "in_progress", "review", "done", "blocked"] as const;
/** The states of a run, which is one attempt of an agent on a task. */
export const RUN_STATUSES = ["running", "submitted", "released", "blocked", "expired", "stopped", "superseded"] as const;

/**
 * Returns the rank of a priority. Known words come first, all others after them. The index of waiting tasks contains this
 * expression.
 */
export const priorityRank = (priority: SQLWrapper): SQL<number> =>
  sql`(case ${priority} when 'high' then 1 when 'medium' then 2 when 'low' then 3 else 4 end)`;

/** Returns the due time for sorting. Tasks without a due time come last. */
export const dueOrNever = (due_at: SQLWrapper): SQL => sql`coalesce(${due_at}, 'infinity')`;

/** Returns the words by which a search finds a task. */
export const taskWords = (t: { board_id: SQLWrapper; title: SQLWrapper; description: SQLWrapper }): SQL =>
  searchVector(t.board_id, t.title, t.description);

export const tasks = pgTable(
  "tasks",
  {
    ...id,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    title: text().notNull(),
    description: text(),
    status: text({ enum: TASK_STATUSES }).notNull().default("inbox"),
    priority: text().notNull().default("medium"),
    due_at: instant(),
    assigned_agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    created_by_user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    in_progress_at: instant(),
    last_started_at: instant(),
    done_at: instant(),
    left_done_at: instant(),
    auto_created: boolean().notNull().default(false),
    auto_reason: text(),
    /** Set while the assignee holds a lease. Only a task in progress can be leased. */
    lease_expires_at: instant(),
    lease_seconds: integer(),
    /** Increases whenever a lease begins or is lost, so that a late write of a previous holder is recognized. */
    lease_fence: integer().notNull().default(0),
    /** How many leases in a row expired without a comment or move by their holder. */
    lease_expiries: integer().notNull().default(0),
    /** The agent that last submitted the task for review. There is no foreign key, so a removed agent's id stays. */
    submitted_by_agent_id: uuid(),
    /** Whether the task had no assignee before the lease. If so, it has no assignee again after it is returned. */
    lease_was_free: boolean().notNull().default(false),
    /** The latest run. A trigger begins and ends it. A change that ends the run for a special reason sets `run_status`. */
    run_id: uuid(),
    run_status: text({ enum: RUN_STATUSES }),
    run_agent_id: uuid(),
    run_started_at: instant(),
    run_ended_at: instant(),
    /** Sums over all runs of the task. */
    run_count: integer().notNull().default(0),
    total_tokens: bigint({ mode: "number" }).notNull().default(0),
    cost_usd: numeric(),
    ...timestamps,
  },
  (t) => [
    index("tasks_by_board").on(t.board_id, t.created_at, t.id),
    index("tasks_by_status").on(t.board_id, t.status, t.created_at, t.id),
    index("tasks_by_assignee").on(t.board_id, t.assigned_agent_id, t.created_at, t.id),
    index("tasks_by_agent").on(t.assigned_agent_id).where(sql`assigned_agent_id is not null`).concurrently(),
    index("tasks_by_creator").on(t.created_by_user_id).where(sql`created_by_user_id is not null`).concurrently(),
    index("tasks_by_lease").on(t.lease_expires_at).where(sql`lease_expires_at is not null`).concurrently(),
    // The index excludes unassigned tasks. Otherwise PostgreSQL would use it to look for the unassigned tasks of one board, and
    // would read the unassigned tasks of all organizations.
    index("tasks_unfinished_by_agent")
      .on(t.assigned_agent_id)
      .where(sql`status in ('inbox', 'in_progress') and assigned_agent_id is not null`)
      .concurrently(),
    index("tasks_next")
      .on(t.board_id, t.assigned_agent_id, priorityRank(t.priority), t.due_at, t.created_at, t.id)
      .where(sql`status = 'inbox'`)
      .concurrently(),
    index("tasks_by_update").on(t.board_id, t.updated_at, t.id).concurrently(),
    index("tasks_by_due").on(t.board_id, dueOrNever(t.due_at), t.id).concurrently(),
    index("tasks_by_priority").on(t.board_id, priorityRank(t.priority), t.created_at, t.id).concurrently(),
    index("tasks_by_word").using("gin", taskWords(t)).concurrently(),
    check("tasks_lease", sql`${t.lease_expires_at} is null or ${t.status} = 'in_progress'`),
    check("tasks_status", isOneOf(t.status, TASK_STATUSES)),
  ],
);
