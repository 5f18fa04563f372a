import { pgTable, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The lock for writing to a host's configuration, one row per gateway. There is no foreign key, because cleanup jobs outlive
 * their gateway; a scheduled job deletes the rows of removed gateways.
 */
export const host_turns = pgTable("host_turns", {
  gateway_id: uuid().primaryKey(),
  /** The process that holds the lock; null while it is free. */
  holder: uuid(),
  /** When the lease ends; a holder that does not renew it loses the lock. */
  held_until: instant().notNull(),
  /** Earliest time for the next holder, because hosts need a pause between writes. */
  free_at: instant().notNull(),
});
