import { pgTable, uuid, index } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The requests that wait for work, in all processes, one for each agent. A row is deleted when its request ends, and expires if
 * the process crashes.
 */
export const inbox_waits = pgTable(
  "inbox_waits",
  {
    agent_id: uuid().primaryKey(),
    organization_id: uuid().notNull(),
    /** If this is not the waiting request's own id, a newer request has replaced it. */
    request_id: uuid().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [index("inbox_waits_organization").on(table.organization_id)],
);
