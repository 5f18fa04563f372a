import { boolean, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { created, instant } from "./columns.ts";
import { gateways } from "./gateway.sql.ts";

/** The open circuits of gateways whose hosts are known to be down. A gateway without a row has a closed circuit. */
export const gateway_circuits = pgTable("gateway_circuits", {
  gateway_id: uuid()
    .primaryKey()
    .references(() => gateways.id, { onDelete: "cascade" }),
  ...created,
  /** The number of consecutive failures. */
  failures: integer().notNull(),
  /** When the next job may try the host. During a trial, this is the time from which another job may try. */
  retry_at: instant().notNull(),
  /** Whether a job is trying the host at the moment (its trial). */
  half_open: boolean().notNull().default(false),
  /** When the circuit last changed. A failed attempt that began earlier is not counted again. */
  changed_at: instant().notNull(),
  last_error: text().notNull(),
});
