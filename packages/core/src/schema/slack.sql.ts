import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytes, instant, timestamps } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

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
