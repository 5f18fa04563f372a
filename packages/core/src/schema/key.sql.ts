import { check, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { created, id, instant, isOneOf, timestamps } from "./columns.ts";
import { organization_members, organizations, users } from "./organization.sql.ts";

export const KEY_ACCESS = ["read", "write", "admin"] as const;

/**
 * Keys for programs. A key acts as a service user, whose row has the id and the name of the key. The trigger `grant_key` gives
 * that user's membership the rights of the key.
 */
export const api_keys = pgTable(
  "api_keys",
  {
    id: uuid()
      .primaryKey()
      .references(() => users.id, { onDelete: "cascade" }),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** The membership that limits the rights of a personal key; null for a key of the organization. */
    owner_member_id: uuid().references(() => organization_members.id, { onDelete: "cascade" }),
    access: text().$type<(typeof KEY_ACCESS)[number]>().notNull(),
    /** Null for all boards. */
    board_ids: uuid().array(),
    /** The beginning of the newest token. */
    prefix: text().notNull(),
    created_by_user_id: uuid().references(() => users.id, { onDelete: "set null" }),
    /** The minute of the last use. */
    last_used_at: instant(),
    expires_at: instant(),
    /** How many days before the expiry the last warning was sent. */
    warned_days: integer(),
    ...timestamps,
  },
  (t) => [
    index("api_keys_by_organization").on(t.organization_id, t.created_at, t.id),
    index("api_keys_by_owner").on(t.owner_member_id),
    index("api_keys_by_creator").on(t.created_by_user_id),
    index("api_keys_by_expiry").on(t.expires_at),
    check("api_keys_access", isOneOf(t.access, KEY_ACCESS)),
  ],
);

/** The tokens of keys. A key has one token, and during a rotation also the previous tokens. */
export const api_key_tokens = pgTable(
  "api_key_tokens",
  {
    ...id,
    key_id: uuid()
      .notNull()
      .references(() => api_keys.id, { onDelete: "cascade" }),
    /** The keyed digest by which the token is found. The token itself is not stored. */
    token_lookup: text().notNull().unique(),
    /** When a replaced token expires; null for the newest token. */
    ends_at: instant(),
    ...created,
  },
  (t) => [index("api_key_tokens_by_key").on(t.key_id), index("api_key_tokens_by_end").on(t.ends_at)],
);
