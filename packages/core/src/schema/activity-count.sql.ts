import { sql } from "drizzle-orm";
import { bigint, boolean, check, index, integer, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { instant, transactionId } from "./columns.ts";

/** The events of a board per UTC hour, counted up to the position in `activity_counted`. */
export const activity_counts = pgTable(
  "activity_counts",
  {
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    /** The start of the hour. The row with `-infinity` contains the sum of all hours, so that a total reads one row per board. */
    hour: instant().notNull(),
    events: integer().notNull(),
    /** Events whose type ends with `failed`. */
    failed: integer().notNull(),
    /** Events that are comments. */
    comments: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.board_id, t.hour] }), index("activity_counts_by_hour").on(t.hour).concurrently()],
);

/**
 * The sums of `activity_counts` per UTC day, so that long ranges read few rows. The row with `-infinity` contains zeros and marks
 * that all days of a board are present. If that row is missing, the hourly counts are read.
 */
export const activity_day_counts = pgTable(
  "activity_day_counts",
  {
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    day: instant().notNull(),
    events: integer().notNull(),
    failed: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.board_id, t.day] })],
);

/** One row with the position in commit order up to which events are counted. Later events are read from the log. */
export const activity_counted = pgTable(
  "activity_counted",
  {
    only: boolean().primaryKey().default(true),
    tx: transactionId().notNull(),
    seq: bigint({ mode: "bigint" }).notNull(),
  },
  (t) => [check("activity_counted_only", sql`${t.only}`)],
);
