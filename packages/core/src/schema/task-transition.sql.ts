import { sql } from "drizzle-orm";
import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agent.sql.ts";
import { boards } from "./board.sql.ts";
import { created, id, instant, transactionId } from "./columns.ts";
import { users } from "./organization.sql.ts";
import { tasks } from "./task.sql.ts";

/**
 * Every change of a task's status, including its creation (from null) and its deletion (to null). Rows are only removed with their
 * board. All metrics of tasks are computed from them.
 */
export const task_transitions = pgTable(
  "task_transitions",
  {
    ...id,
    ...created,
    board_id: uuid()
      .notNull()
      .references(() => boards.id, { onDelete: "cascade" }),
    task_id: uuid().references(() => tasks.id, { onDelete: "set null" }),
    from_status: text(),
    to_status: text(),
    at: instant().notNull(),
    /** The start of work on the task in the cycle that this status change belongs to. */
    in_progress_at: instant(),
    /**
     * For a change to `review`: when the task last changed to `review` before, or `-infinity` if never. Null for other changes, and
     * for rows that an earlier version of the service stored, until they are counted.
     */
    reviewed_before: instant(),
    /** Together with the id, the position in commit order, which differs from the order of `at`. */
    tx: transactionId().notNull().default(sql`pg_current_xact_id()`),
    agent_id: uuid().references(() => agents.id, { onDelete: "set null" }),
    user_id: uuid().references(() => users.id, { onDelete: "set null" }),
  },
  (t) => [
    index("task_transitions_by_board").on(t.board_id, t.at, t.id),
    index("task_transitions_by_task").on(t.task_id, t.at, t.id),
    // Only metrics read status changes by their target status, and only by these two statuses.
    index("task_transitions_finished")
      .on(t.board_id, t.to_status, t.at, t.in_progress_at)
      .where(sql`to_status in ('review', 'done')`)
      .concurrently(),
    index("task_transitions_in_commit_order").on(t.board_id, t.tx, t.id).concurrently(),
    index("task_transitions_of_all_boards").on(t.tx, t.id).concurrently(),
    // Rows of a removed task have lost its id. Rows with the same start of work belong to the same task; see `reviewedBefore`.
    index("task_transitions_unnamed_reviews")
      .on(t.board_id, t.in_progress_at, t.at, t.id)
      .where(sql`task_id is null and to_status = 'review'`)
      .concurrently(),
    index("task_transitions_by_agent").on(t.agent_id).where(sql`agent_id is not null`).concurrently(),
    index("task_transitions_by_user").on(t.user_id).where(sql`user_id is not null`).concurrently(),
  ],
);
