import { sql } from "drizzle-orm";
import { boolean, index, pgTable, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { id, timestamps } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

/**
 * Who follows a board or task, or decided not to. The creator of a task and people who comment on it follow it without a row,
 * unless a row says that they do not.
 */
export const follows = pgTable(
  "follows",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    /** Null for the whole board. */
    task_id: uuid().references(() => tasks.id, { onDelete: "cascade" }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    following: boolean().notNull(),
    /** Whether the person created the board. */
    is_maker: boolean().notNull().default(false),
    ...timestamps,
  },
  (t) => [
    uniqueIndex("follows_board").on(t.board_id, t.user_id).where(sql`task_id is null`),
    uniqueIndex("follows_task").on(t.task_id, t.user_id).where(sql`task_id is not null`),
    index("follows_by_board").on(t.board_id),
    index("follows_by_user").on(t.user_id),
    index("follows_by_organization").on(t.organization_id),
  ],
);
