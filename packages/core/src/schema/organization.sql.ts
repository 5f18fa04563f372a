import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { id, instant, timestamps } from "./columns.ts";

export const organizations = pgTable(
  "organizations",
  {
    ...id,
    name: text().notNull(),
    /**
     * When the organization's text usage was last compared with the stored texts. Null if texts that are older than the counter
     * may be missing from it.
     */
    texts_counted_at: instant().defaultNow(),
    ...timestamps,
  },
  (t) => [index("organizations_texts_counted").on(t.texts_counted_at)],
);

export const users = pgTable(
  "users",
  {
    ...id,
    /**
     * Who identifies the user: an identity provider (by its `iss` claim), `local`, `accounts` or, for service users, `key`.
     * Empty for users that are older than this column, until the first of them signs in.
     */
    auth_issuer: text().notNull().default(""),
    auth_subject: text().notNull(),
    email: text(),
    name: text(),
    preferred_name: text(),
    pronouns: text(),
    timezone: text(),
    notes: text(),
    context: text(),
    active_organization_id: uuid().references(() => organizations.id, { onDelete: "set null" }),
    /** The organization of a service user, which a key acts as; null for a person. */
    service_organization_id: uuid().references(() => organizations.id, { onDelete: "cascade" }),
    ...timestamps,
  },
  (t) => [
    unique("users_identity").on(t.auth_subject, t.auth_issuer),
    index("users_email").on(sql`lower(${t.email})`),
    index("users_active_organization").on(t.active_organization_id),
    index("users_of_services").on(t.service_organization_id).where(sql`service_organization_id is not null`).concurrently(),
  ],
);

export const organization_members = pgTable(
  "organization_members",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    user_id: uuid()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text().$type<"owner" | "admin" | "member">().notNull(),
    all_boards_read: boolean().notNull().default(false),
    all_boards_write: boolean().notNull().default(false),
    ...timestamps,
  },
  (t) => [
    unique("organization_members_user").on(t.organization_id, t.user_id),
    index("organization_members_by_user").on(t.user_id, t.created_at, t.id),
    check("organization_members_role", sql`${t.role} in ('owner', 'admin', 'member')`),
  ],
);
