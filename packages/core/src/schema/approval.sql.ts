import { sql } from "drizzle-orm";
import { boolean, check, doublePrecision, index, integer, pgTable, text, unique, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { changeOrder, created, id, instant, isOneOf, json, timestamps } from "./columns.ts";
import { users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const APPROVAL_STATUSES = ["pending", "approved", "rejected"] as const;

export const approvals = pgTable(
  "approvals",
  {
    ...id,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    action_type: text().notNull(),
    payload: json().$type<Record<string, unknown>>(),
    confidence: doublePrecision(),
    rubric_scores: json().$type<Record<string, number>>(),
    status: text({ enum: APPROVAL_STATUSES }).notNull().default("pending"),
    task_id: uuid().references(() => tasks.id, { onDelete: "set null" }),
    resolved_at: instant(),
    resolved_by_user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    ...changeOrder,
    ...timestamps,
  },
  (t) => [
    index("approvals_by_board").on(t.board_id, t.created_at, t.id),
    index("approvals_by_status").on(t.board_id, t.status, t.created_at, t.id),
    index("approvals_by_task").on(t.task_id),
    index("approvals_by_agent").on(t.agent_id),
    index("approvals_by_resolver").on(t.resolved_by_user_id),
    index("approvals_by_decision").on(t.board_id, t.resolved_at).where(sql`resolved_at is not null`).concurrently(),
    index("approvals_by_change").on(t.board_id, t.change_tx, t.change_seq),
    check("approvals_status", isOneOf(t.status, APPROVAL_STATUSES)),
    check("approvals_confidence", sql`${t.confidence} between 0 and 100`),
  ],
);

export const approval_task_links = pgTable(
  "approval_task_links",
  {
    ...id,
    ...created,
    approval_id: uuid()
      .notNull()
      .references(() => approvals.id, { onDelete: "cascade" }),
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    position: integer().notNull(),
    /** Copied from the status of the approval, so that a unique index can allow one pending approval per task. */
    pending: boolean().notNull(),
  },
  (t) => [
    unique("approval_task_links_task").on(t.approval_id, t.task_id),
    uniqueIndex("approval_task_links_pending").on(t.task_id).where(sql`pending`),
    index("approval_task_links_by_task").on(t.task_id, t.approval_id),
  ],
);
