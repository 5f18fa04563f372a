import { sql } from "drizzle-orm";
import { check, index, integer, pgTable, unique, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { created, id } from "./columns.ts";
import { tasks } from "./task.sql.ts";

export const task_dependencies = pgTable(
  "task_dependencies",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    depends_on_task_id: uuid()
      .notNull()
      .references(() => tasks.id, { onDelete: "cascade" }),
    position: integer().notNull(),
  },
  (t) => [
    unique("task_dependencies_task").on(t.task_id, t.depends_on_task_id),
    index("task_dependencies_by_dependency").on(t.depends_on_task_id),
    index("task_dependencies_by_board").on(t.board_id),
    check("task_dependencies_other", sql`${t.task_id} <> ${t.depends_on_task_id}`),
  ],
);
