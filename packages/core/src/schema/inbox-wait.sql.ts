import { pgTable, uuid, index } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/**
 * The requests that wait for work in all processes, one for each agent. A row is deleted when its request ends, and expires after
 * a crash.
 */
export const inbox_waits = pgTable(
  "inbox_waits",
  {
    agent_id: uuid().primaryKey(),
    organization_id: uuid().notNull(),
    /** Another id than the waiting request's own means that a newer request has replaced it. */
    request_id: uuid().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [index("inbox_waits_organization").on(table.organization_id)],
);
