import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import { created, id, instant } from "../db/columns.ts";
import { users } from "../organization/organization.sql.ts";
import { tasks } from "./task.sql.ts";

/** Append-only: every change of a task's status, its creation (from null) and its deletion (to null). The source of metrics. */
export const task_transitions = pgTable(
  "task_transitions",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid().references(() => tasks.id, { onDelete: "set null" }),
    from_status: text(),
    to_status: text(),
    at: instant().notNull(),
    /** Start of the work cycle that the task was in when it moved. */
    in_progress_at: instant(),
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    user_id: uuid().references(() => users.id, { onDelete: "set null" }),
  },
  (t) => [
    index("task_transitions_by_board").on(t.board_id, t.at, t.id),
    index("task_transitions_by_task").on(t.task_id, t.at, t.id),
    index("task_transitions_by_target").on(t.board_id, t.to_status, t.at, t.id),
    index("task_transitions_by_agent").on(t.agent_id),
    index("task_transitions_by_user").on(t.user_id),
  ],
);
