import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

const ACTOR_TYPES = ["user", "agent", "system"] as const;

/**
 * The notifications of people. They contain only ids: a text is read when it is shown, with the rights that the person has at
 * that time.
 */
export const user_notifications = pgTable(
  "user_notifications",
  {
    ...id,
    ...created,
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    board_id: uuid().references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid().references(() => tasks.id, { onDelete: "cascade" }),
    type: text().notNull(),
    subject_id: uuid().notNull(),
    actor_type: text().$type<(typeof ACTOR_TYPES)[number]>().notNull(),
    actor_id: uuid(),
    /** A person gets only one notification for all alerts with the same key. */
    key: text().notNull(),
    read_at: instant(),
  },
  (t) => [
    unique("user_notifications_key").on(t.user_id, t.key),
    index("user_notifications_by_user").on(t.user_id, t.created_at, t.id),
    index("user_notifications_unread").on(t.user_id, t.created_at, t.id).where(sql`read_at is null`),
    index("user_notifications_by_organization").on(t.organization_id),
    index("user_notifications_by_board").on(t.board_id),
    index("user_notifications_by_task").on(t.task_id),
    index("user_notifications_by_age").on(t.created_at),
    check("user_notifications_actor", isOneOf(t.actor_type, ACTOR_TYPES)),
  ],
);

/** How a person wants to be notified. A person without a row has the defaults. */
export const notification_preferences = pgTable("notification_preferences", {
  user_id: uuid()
    .primaryKey()
    .references(() => users.id, { onDelete: "cascade" }),
  /** The choices that differ from the defaults, by type and channel. */
  choices: jsonb().$type<Record<string, Record<string, "now" | "digest" | "off">>>().notNull(),
  /** Times of day such as `22:00`. */
  quiet_from: text(),
  quiet_until: text(),
  digest_time: text().notNull(),
  time_zone: text().notNull(),
  ...timestamps,
});
