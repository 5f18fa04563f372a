import { index, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { approvals } from "./approval.sql.ts";
import { channels } from "./channel.sql.ts";
import { bytes, created, id, instant, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";
import { user_notifications } from "./people.sql.ts";

/** The Slack app of an organization. Admins create the app in their workspace, and its secrets are stored encrypted. */
export const slack_apps = pgTable(
  "slack_apps",
  {
    organization_id: uuid()
      .primaryKey()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** Slack's ids of the workspace and of the app's user in it. */
    team_id: text().notNull(),
    team_name: text().notNull(),
    bot_user_id: text().notNull(),
    bot_token_sealed: bytes().notNull(),
    signing_secret_sealed: bytes().notNull(),
    /** Nothing is sent before this time, because Slack asked the service to wait or did not accept the app. */
    retry_at: instant(),
    last_error: text(),
    ...timestamps,
  },
  (t) => [index("slack_apps_by_team").on(t.team_id)],
);

/** The decisions that messages in Slack have buttons for. A row is removed when its message shows the result. */
export const slack_decisions = pgTable(
  "slack_decisions",
  {
    ...id,
    /** When the message was sent. */
    ...created,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    channel_id: uuid()
      .notNull()
      .references(() => channels.id, { onDelete: "cascade" }),
    notification_id: uuid()
      .notNull()
      .references(() => user_notifications.id, { onDelete: "cascade" }),
    approval_id: uuid()
      .notNull()
      .references(() => approvals.id, { onDelete: "cascade" }),
    /** Slack's identifiers of the message. Several decisions may belong to the same message. */
    conversation: text().notNull(),
    ts: text().notNull(),
    /** When the message has to be replaced; null if it changes only after a decision. */
    due_at: instant(),
  },
  (t) => [
    unique("slack_decisions_once").on(t.channel_id, t.notification_id),
    index("slack_decisions_due").on(t.organization_id, t.due_at),
    index("slack_decisions_by_message").on(t.organization_id, t.conversation, t.ts),
    index("slack_decisions_by_approval").on(t.approval_id),
    index("slack_decisions_by_notification").on(t.notification_id),
  ],
);
