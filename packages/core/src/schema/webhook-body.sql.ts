import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

/** The turns of organizations to have their old bodies moved, and how far each has come. */
export const webhook_body_turns = pgTable(
  "webhook_body_turns",
  {
    organization_id: uuid()
      .primaryKey()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** When its last turn began. The longest ago is next. */
    turn_at: instant().notNull(),
    /** From when on it may have a turn. Until then, another run may be moving its bodies. */
    next_at: instant().notNull(),
    /** The payload up to which bodies have moved, or stay because they are small. */
    moved_until: instant(),
    moved_id: uuid(),
  },
  (t) => [index("webhook_body_turns_by_turn").on(t.turn_at)],
);

/**
 * Objects in the body storage to which no payload may refer: those that are being written, and those of removed payloads. It
 * has no foreign keys, because it outlives payloads and organizations.
 */
export const webhook_body_orphans = pgTable(
  "webhook_body_orphans",
  {
    payload_id: uuid().primaryKey(),
    body_key: text().notNull(),
    /** When it is looked at. */
    due_at: instant().notNull(),
  },
  (t) => [index("webhook_body_orphans_by_due").on(t.due_at)],
);
