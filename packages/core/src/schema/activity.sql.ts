import { sql } from "drizzle-orm";
import { index, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { commitOrder, created, id } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

export const ANCHOR_SIDES = ["old", "new"] as const;

/** The place in an artifact that a comment is about. Without `line` it is a whole file, and without `path` the whole artifact. */
export interface CommentAnchor {
  artifact_id: string;
  path: string | null;
  line: number | null;
  side: (typeof ANCHOR_SIDES)[number] | null;
}

export const activity_events = pgTable(
  "activity_events",
  {
    ...id,
    ...created,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    event_type: text().notNull(),
    message: text(),
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid().references(() => tasks.id, { onDelete: "set null" }),
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    /** Only comments have tags. */
    tags: text().array(),
    /** Only comments have an anchor. */
    anchor: jsonb().$type<CommentAnchor>(),
    ...commitOrder,
  },
  (t) => [
    index("activity_by_board").on(t.board_id, t.created_at, t.id),
    index("activity_by_organization").on(t.organization_id, t.created_at, t.id),
    index("activity_without_board").on(t.organization_id, t.created_at, t.id).where(sql`board_id is null`),
    index("activity_without_board_by_age").on(t.created_at).where(sql`board_id is null`).concurrently(),
    index("activity_by_agent").on(t.agent_id, t.created_at, t.id).where(sql`agent_id is not null`).concurrently(),
    index("activity_of_task").on(t.task_id, t.created_at, t.id).where(sql`task_id is not null`).concurrently(),
    // Only the foreign key uses this index. Without it, removing a person would read the whole log.
    index("activity_by_user").on(t.user_id).where(sql`user_id is not null`).concurrently(),
    index("comments_by_task").on(t.task_id, t.created_at, t.id).where(sql`event_type = 'task.comment'`),
    index("comments_by_board").on(t.board_id, t.created_at, t.id).where(sql`event_type = 'task.comment'`),
    index("comments_by_organization").on(t.organization_id, t.created_at, t.id).where(sql`event_type = 'task.comment'`),
    index("comments_in_commit_order").on(t.organization_id, t.tx, t.seq).where(sql`event_type = 'task.comment'`),
    index("activity_in_commit_order").on(t.board_id, t.tx, t.seq),
    // This index is for code that reads the events of all boards. The code would otherwise have to read each board separately.
    index("activity_of_all_boards").on(t.tx, t.seq).concurrently(),
  ],
);
