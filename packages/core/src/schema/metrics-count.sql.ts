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
 * How the status changes of tasks changed the figures of a board, per UTC hour and per UTC day. It counts the rows of
 * `task_transitions` up to the position in `transitions_counted`.
 */
export const transition_counts = pgTable(
  "transition_counts",
  {
    ...board(),
    span: text({ enum: TRANSITION_SPANS }).notNull(),
    start: instant().notNull(),
    /** Tasks that changed to each status, minus the tasks that left it. */
    ...tasksByStatus,
    /** Changes to `review` that were the first of their task in the hour, day, week or month. */
    reviewed_in_hour: integer().notNull(),
    reviewed_in_day: integer().notNull(),
    reviewed_in_week: integer().notNull(),
    reviewed_in_month: integer().notNull(),
    /** How many tasks with a start of work changed to `done`, and the sum of the times from that start to the change. */
    completed: integer().notNull(),
    cycle_ms: bigint({ mode: "bigint" }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.board_id, t.span, t.start] }),
    check("transition_counts_span", isOneOf(t.span, TRANSITION_SPANS)),
  ],
);

/** The number of tasks of a board by status, as of the position in `transitions_counted`. Readers add later status changes. */
export const task_counts = pgTable("task_counts", { ...board(), ...tasksByStatus }, (t) => [
  primaryKey({ columns: [t.board_id] }),
]);

/** One row with the position in commit order up to which status changes are counted. Later status changes are read one by one. */
export const transitions_counted = pgTable(
  "transitions_counted",
  {
    only: boolean().primaryKey().default(true),
    tx: transactionId().notNull(),
    transition_id: uuid().notNull(),
  },
  (t) => [check("transitions_counted_only", sql`${t.only}`)],
);
