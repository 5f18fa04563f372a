import { pgTable, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The locks for writing to the configuration of a host, one row per gateway. There is no foreign key, because clean-up jobs
 * outlive their gateway. A scheduled job deletes the rows of removed gateways.
 */
export const host_turns = pgTable("host_turns", {
  gateway_id: uuid().primaryKey(),
  /** The process that holds the lock; null while it is free. */
  holder: uuid(),
  /** When the lease ends. A holder that does not renew it loses the lock. */
  held_until: instant().notNull(),
  /** The earliest time at which the next holder may take the lock, because hosts need a pause between writes. */
  free_at: instant().notNull(),
});
