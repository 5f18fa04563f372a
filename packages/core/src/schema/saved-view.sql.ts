import { index, jsonb, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { instant } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";

export interface StoredView {
  name: string;
  query: string;
}

/** The filters with which a person looks at a board, saved under a name. */
export const saved_views = pgTable(
  "saved_views",
  {
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    views: jsonb().$type<StoredView[]>().notNull(),
    updated_at: instant().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.board_id, t.user_id] }),
    index("saved_views_by_user").on(t.user_id),
    index("saved_views_by_organization").on(t.organization_id),
  ],
);
