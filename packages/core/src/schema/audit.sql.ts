import { bigint, index, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";
import { bytes, id, instant, json } from "./columns.ts";
import { organizations } from "./organization.sql.ts";

/** Who changed what. A trigger refuses updates. Each row contains a hash over its values and the hash of the previous row. */
export const audit_events = pgTable(
  "audit_events",
  {
    ...id,
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id, { onDelete: "cascade" }),
    /** The position in the chain of the organization. */
    seq: bigint({ mode: "number" }).notNull(),
    at: instant().notNull(),
    action: text().notNull(),
    actor_type: text().notNull(),
    actor_id: uuid(),
    actor_name: text(),
    target_type: text().notNull(),
    target_id: uuid(),
    target_name: text(),
    changes: json().notNull(),
    address: text(),
    user_agent: text(),
    trace_id: text(),
    hash: bytes().notNull(),
  },
  (t) => [unique("audit_events_seq").on(t.organization_id, t.seq), index("audit_events_by_age").on(t.at)],
);

/**
 * The beginning and the end of an organization's chain: its newest row, and the newest row that was removed because of its age.
 */
export const audit_chains = pgTable("audit_chains", {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id, { onDelete: "cascade" }),
  seq: bigint({ mode: "number" }).notNull(),
  hash: bytes().notNull(),
  removed_seq: bigint({ mode: "number" }).notNull(),
  removed_hash: bytes().notNull(),
});
