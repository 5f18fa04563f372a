import { sql } from "drizzle-orm";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { doneBy } from "./events.ts";
import type { TaskStatus } from "./task.ts";
import { task_transitions } from "./transition.sql.ts";

export interface NewTransition {
  task_id: string | null;
  /** Null for a new task. */
  from_status: TaskStatus | null;
  /** Null for a removed one. */
  to_status: TaskStatus | null;
  in_progress_at: Date | null;
}

/** The inserts that record moves of a board's tasks, for `writeTogether`: one for all, none without moves. */
export function newTransitions(ctx: Context<User | Agent>, board_id: string, moves: readonly NewTransition[]) {
  if (moves.length === 0) return [];
  const rows = moves.map((move) => ({ board_id, at: nextMoment(move.task_id), ...move, ...doneBy(ctx.actor) }));
  return [ctx.db.insert(task_transitions).values(rows)];
}

/**
 * The start of the transaction, but always after the task's last move: whoever waited for the task has started before it.
 * The task is held.
 */
export const nextMoment = (task_id: string | null) => sql`greatest(now(), (
  select max(step.at) + interval '1 millisecond' from ${task_transitions} as step where step.task_id = ${task_id}))`;
