import { sql } from "drizzle-orm";
import { bigint, boolean, check, integer, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { boards } from "../board/board.sql.ts";
import { instant, transactionId } from "../db/columns.ts";

/** How many events a board's log has of each hour (UTC), of those that are counted: see `activity_counted`. */
export const activity_counts = pgTable(
  "activity_counts",
  {
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    /** Start of the hour. The row of `-infinity` holds the sum of all hours, so that a total costs one row of a board. */
    hour: instant().notNull(),
    events: integer().notNull(),
    /** Of these, types that end with `failed`. */
    failed: integer().notNull(),
    /** Of these, comments. */
    comments: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.board_id, t.hour] })],
);

/** How far, in commit order, events are counted: one row. What lies beyond is read from the log itself. */
export const activity_counted = pgTable(
  "activity_counted",
  {
    only: boolean().primaryKey().default(true),
    tx: transactionId().notNull(),
    seq: bigint({ mode: "bigint" }).notNull(),
  },
  (t) => [check("activity_counted_only", sql`${t.only}`)],
);
