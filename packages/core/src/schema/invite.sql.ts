import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, text, unique, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { bytes, created, id, instant, timestamps } from "./columns.ts";
import { organizations, users } from "./organization.sql.ts";

export const organization_invites = pgTable(
  "organization_invites",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    invited_email: text().notNull(),
    /** The digest by which an invite is found. Admins can read the token itself, which is encrypted in `token_sealed`. */
    token_digest: text().notNull().unique(),
    token_sealed: bytes().notNull(),
    role: text().$type<"owner" | "admin" | "member">().notNull(),
    all_boards_read: boolean().notNull().default(false),
    all_boards_write: boolean().notNull().default(false),
    created_by_user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    accepted_by_user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    accepted_at: instant(),
    ...timestamps,
  },
  (t) => [
    uniqueIndex("organization_invites_open").on(t.organization_id, t.invited_email).where(sql`accepted_at is null`),
    index("organization_invites_by_organization").on(t.organization_id, t.created_at, t.id).where(sql`accepted_at is null`),
    index("organization_invites_by_creator").on(t.created_by_user_id),
    index("organization_invites_by_accepter").on(t.accepted_by_user_id),
    check("organization_invites_role", sql`${t.role} in ('owner', 'admin', 'member')`),
  ],
);

export const organization_invite_board_access = pgTable(
  "organization_invite_board_access",
  {
    ...id,
    ...created,
    organization_invite_id: uuid()
      .notNull()
      .references(() => organization_invites.id, { onDelete: "cascade" }),
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    can_read: boolean().notNull(),
    can_write: boolean().notNull(),
  },
  (t) => [
    unique("organization_invite_board_access_board").on(t.organization_invite_id, t.board_id),
    index("organization_invite_board_access_by_board").on(t.board_id),
  ],
);
