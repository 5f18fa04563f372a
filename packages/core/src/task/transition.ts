import { sql } from "drizzle-orm";
import { type Agent, actorColumns, type System, type User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { prepareRowsInsert } from "../db/prepared-write.ts";
import type { TaskStatus } from "./task-status.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";

/** The context of a change that a person, an agent or the service itself makes. */
export type TaskContext = Context<User | Agent | System>;

export interface NewTransition {
  board_id: string;
  /** Null for a removed task. */
  task_id: string | null;
  /** Null for a new task. */
  from_status: TaskStatus | null;
  /** Null for a removed task. */
  to_status: TaskStatus | null;
  in_progress_at: Date | null;
}

/** Returns one insert for all transitions, as a list for `runBatch`. The list is empty if there are no transitions. */
export function insertTransitions(ctx: TaskContext, transitions: readonly NewTransition[]) {
  if (transitions.length === 0) return [];
  return [insertRows(transitions.map((transition) => ({ ...transition, ...actorColumns(ctx.actor) })))];
}

/**
 * The start of the transaction, or a millisecond after the task's last transition if that is later. It is later if this
 * transaction began first but had to wait for the lock on the task. The caller must have locked the task.
 */
const nextTransitionTime = sql`greatest(now(), (
  select max(step.at) + interval '1 millisecond' from ${task_transitions} as step where step.task_id = given.task_id))`;

/**
 * When the task was last moved to review. Metrics use this time to count a task only once, even after its removal. Old rows have no
 * such time; `reviewedBefore` handles them.
 */
const previousReview = sql`case when given.to_status = 'review' then coalesce((
  select max(step.at) from ${task_transitions} as step where step.task_id = given.task_id and step.to_status = 'review'), '-infinity') end`;

const insertRows = prepareRowsInsert(
  "transitions",
  task_transitions,
  ["at", "board_id", "task_id", "from_status", "to_status", "in_progress_at", "reviewed_before", "agent_id", "user_id"],
  { expressions: { at: nextTransitionTime, reviewed_before: previousReview } },
);
