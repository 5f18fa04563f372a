import { pgTable, uuid } from "drizzle-orm/pg-core";
import { instant } from "../db/columns.ts";

/**
 * Whose turn it is to write to a host's configuration. No foreign key: clean-ups outlive their gateway, and the rows of
 * gateways that are gone are swept.
 */
export const host_turns = pgTable("host_turns", {
  gateway_id: uuid().primaryKey(),
  /** Who has the turn; null while nobody has. */
  holder: uuid(),
  /** When a holder that was never heard of again loses it. */
  held_until: instant().notNull(),
  /** From when on the next write may come. */
  free_at: instant().notNull(),
});
