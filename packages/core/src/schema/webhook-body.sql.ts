import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

/** The progress of moving the bodies of old payloads to the body storage, by organization. The organizations take turns. */
export const webhook_body_turns = pgTable(
  "webhook_body_turns",
  {
    organization_id: uuid()
      .primaryKey()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** When bodies of the organization were last moved. The organization with the oldest time comes next. */
    turn_at: instant().notNull(),
    /** When bodies of the organization may be moved again. Until then, another run may still be moving them. */
    next_at: instant().notNull(),
    /** All bodies up to this payload were moved, or are small enough to stay. */
    moved_until: instant(),
    moved_id: uuid(),
  },
  (t) => [index("webhook_body_turns_by_turn").on(t.turn_at)],
);

/**
 * Objects in the body storage that possibly belong to no payload or run: objects that are being written, and objects of removed
 * payloads and runs. There are no foreign keys, because a row outlives payloads and organizations.
 */
export const webhook_body_orphans = pgTable(
  "webhook_body_orphans",
  {
    payload_id: uuid().primaryKey(),
    body_key: text().notNull(),
    /** When to check the object. It is deleted if no payload or run step refers to it. */
    due_at: instant().notNull(),
  },
  (t) => [index("webhook_body_orphans_by_due").on(t.due_at)],
);
