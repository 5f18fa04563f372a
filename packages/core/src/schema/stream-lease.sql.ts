import { sql } from "drizzle-orm";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The open streams of all processes. A row is deleted when its stream ends or is replaced. After a crash the row expires, or no
 * longer counts because its process is gone. The table has no foreign keys, so that opening a stream never waits for another row.
 */
export const stream_leases = pgTable("stream_leases", {
  id: uuid().primaryKey(),
  /** The id of the user or agent. */
  caller_id: uuid().notNull(),
  organization_id: uuid(),
  /** A digest of the client's id, the stream's path and filters, and the organization; null for a client without an id. */
  client_key: text(),
  opened_at: instant().notNull().default(sql`clock_timestamp()`),
  expires_at: instant().notNull(),
  /** The process that keeps the lease alive; null if the lease expires by itself, as in Lambda functions. */
  process_id: uuid(),
});
