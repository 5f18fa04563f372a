import { boolean, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { created, instant } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";

/** The open circuits: gateways whose hosts are known to be down. A gateway without a row has a closed circuit. */
export const gateway_circuits = pgTable("gateway_circuits", {
  gateway_id: uuid()
    .primaryKey()
    .references(() => gateways.id, { onDelete: "cascade" }),
  ...created,
  /** Failed tries in a row. */
  failures: integer().notNull(),
  /** When the next job may try the host; while one does, when another may. */
  retry_at: instant().notNull(),
  /** A job tries the host now. */
  half_open: boolean().notNull().default(false),
  /** Attempts that began earlier say nothing new. */
  changed_at: instant().notNull(),
  last_error: text().notNull(),
});
