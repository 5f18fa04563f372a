import { sql } from "drizzle-orm";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The open streams of all processes. A row is deleted when its stream ends or is replaced. After a crash it expires, or it no
 * longer counts because its process is gone. It has no foreign keys, so that opening a stream waits for no other row.
 */
export const stream_leases = pgTable("stream_leases", {
  id: uuid().primaryKey(),
  /** The user or the agent. */
  caller_id: uuid().notNull(),
  organization_id: uuid(),
  /** A digest of the client's id and of the rows it follows; null for a client without an id. */
  client_key: text(),
  opened_at: instant().notNull().default(sql`clock_timestamp()`),
  expires_at: instant().notNull(),
  /** The process whose presence keeps the lease; null if the lease expires by itself, as in functions. */
  process_id: uuid(),
});
