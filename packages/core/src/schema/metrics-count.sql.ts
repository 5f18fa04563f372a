import { sql } from "drizzle-orm";
import { bigint, boolean, check, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { boards } from "./board.sql.ts";
import { instant, isOneOf, transactionId } from "./columns.ts";

const board = () => ({
  board_id: uuid()
    .notNull()
    .references(() => boards.id, { onDelete: "cascade" }),
});

const tasksByStatus = {
  inbox: integer().notNull(),
  in_progress: integer().notNull(),
  review: integer().notNull(),
  done: integer().notNull(),
};

export const TRANSITION_SPANS = ["hour", "day"] as const;

/**
 * How moves of tasks on a board changed its figures, per UTC hour and per UTC day, counted up to the position in
 * `transitions_counted`.
 */
export const transition_counts = pgTable(
  "transition_counts",
  {
    ...board(),
    span: text({ enum: TRANSITION_SPANS }).notNull(),
    start: instant().notNull(),
    /** Tasks that moved into each status, minus those that moved out of it. */
    ...tasksByStatus,
    /** Moves to review that were their task's first move to review in the hour, day, week or month. */
    reviewed_in_hour: integer().notNull(),
    reviewed_in_day: integer().notNull(),
    reviewed_in_week: integer().notNull(),
    reviewed_in_month: integer().notNull(),
    /** How many tasks with a start of work moved to done, and the sum of the times from that start to the move. */
    completed: integer().notNull(),
    cycle_ms: bigint({ mode: "bigint" }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.board_id, t.span, t.start] }),
    check("transition_counts_span", isOneOf(t.span, TRANSITION_SPANS)),
  ],
);

/** The tasks of a board by status, as of the position in `transitions_counted`. Readers add later moves to these numbers. */
export const task_counts = pgTable("task_counts", { ...board(), ...tasksByStatus }, (t) => [
  primaryKey({ columns: [t.board_id] }),
]);

/** One row with the position in commit order up to which moves are counted. Later moves are read one by one. */
export const transitions_counted = pgTable(
  "transitions_counted",
  {
    only: boolean().primaryKey().default(true),
    tx: transactionId().notNull(),
    transition_id: uuid().notNull(),
  },
  (t) => [check("transitions_counted_only", sql`${t.only}`)],
);
