import { sql } from "drizzle-orm";
import { pgTable, doublePrecision, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "./columns.ts";

/** The processes on this database that hold streams or run schedules. The row of a killed process remains until it is removed. */
export const processes = pgTable("processes", {
  id: uuid().primaryKey(),
  /** Host name and process id, for operators. */
  name: text().notNull(),
  started_at: instant().notNull().default(sql`clock_timestamp()`),
  seen_at: instant().notNull().default(sql`clock_timestamp()`),
  /** How many milliseconds the process's clock is ahead of the database's; negative if it is behind. */
  clock_ahead_ms: doublePrecision().notNull(),
});

/**
 * The last scheduled run of each schedule. Processes that start a run at the same time compete for the row, so that only one of
 * them performs the run.
 */
export const schedule_turns = pgTable("schedule_turns", {
  name: text().primaryKey(),
  tick_at: instant().notNull(),
  process_id: uuid().notNull(),
  /** Renewed while the run is in progress. If this time is old, the process has ended and another process takes the run over. */
  renewed_at: instant().notNull().default(sql`clock_timestamp()`),
  ended_at: instant(),
});
