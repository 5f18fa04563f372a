import { sql } from "drizzle-orm";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The open streams of all processes, for deployments where each stream has its own process. A row is deleted when its stream ends
 * or is replaced; after a crash it expires. It has no foreign keys, so that opening a stream waits for no other row.
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
});
