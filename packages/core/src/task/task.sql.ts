import { boolean, check, index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import { id, instant, isOneOf, timestamps } from "../db/columns.ts";
import { users } from "../organization/organization.sql.ts";

export const TASK_STATUSES = ["inbox", "in_progress", "review", "done", "blocked"] as const;

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
    ...timestamps,
  },
  (t) => [
    index("tasks_by_board").on(t.board_id, t.created_at, t.id),
    index("tasks_by_status").on(t.board_id, t.status, t.created_at, t.id),
    index("tasks_by_assignee").on(t.board_id, t.assigned_agent_id, t.created_at, t.id),
    index("tasks_by_agent").on(t.assigned_agent_id),
    index("tasks_by_creator").on(t.created_by_user_id),
    check("tasks_status", isOneOf(t.status, TASK_STATUSES)),
  ],
);
