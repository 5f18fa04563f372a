import { sql } from "drizzle-orm";
import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { commitOrder, created, id, instant } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

/**
 * Messages to agents. An agent without a host gets all its messages here. Any other agent gets here only messages that its host
 * did not accept.
 */
export const inbox_messages = pgTable(
  "inbox_messages",
  {
    ...id,
    ...created,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** The agent's board when the message was written; null for a main agent. */
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id, { onDelete: "cascade" }),
    kind: text().notNull(),
    text: text().notNull(),
    /**
     * The agent that wrote the whole text; null if the service wrote it. There is no foreign key, because the message outlives
     * its author.
     */
    author_id: uuid(),
    task_id: uuid().references(() => tasks.id, { onDelete: "set null" }),
    acknowledged_at: instant(),
    ...commitOrder,
  },
  (t) => [
    index("inbox_messages_unread").on(t.agent_id, t.tx, t.seq).where(sql`acknowledged_at is null`),
    index("inbox_messages_by_agent").on(t.agent_id),
    index("inbox_messages_by_board").on(t.board_id),
    index("inbox_messages_by_organization").on(t.organization_id),
    index("inbox_messages_by_task").on(t.task_id),
    index("inbox_messages_by_age").on(t.created_at),
  ],
);

/** When an agent last acknowledged messages. Decisions on approvals after this time are new to it. */
export const inbox_acknowledgements = pgTable("inbox_acknowledgements", {
  agent_id: uuid()
    .primaryKey()
    .references(() => agents.id, { onDelete: "cascade" }),
  acknowledged_at: instant().notNull(),
});
