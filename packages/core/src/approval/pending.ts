import { and, asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { violatedIndex } from "../db/conflict.ts";
import { DomainError } from "../errors.ts";
import { tasks } from "../task/task.sql.ts";
import { approval_task_links, approvals } from "./approval.sql.ts";

/** Ids of tasks, or the subquery that finds them. */
export type TaskIds = readonly string[] | SQL;

/** The tasks of an approval, for a condition on task ids. */
export const tasksOf = (approval_id: string): SQL =>
  sql`(select link.task_id from ${approval_task_links} as link where link.approval_id = ${approval_id})`;

/**
 * Holds tasks of a board until the transaction ends, and returns the ids of those that there are. Whoever makes an approval
 * pending or decides one does it, and whoever moves a task: none of them sees half of what another does. The board comes
 * first and the tasks by id, as everybody takes them, so that nobody waits in a circle.
 */
export async function holdTasks(ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<string[]> {
  const home = sql`(select ${boards}.id from ${boards} where ${boards}.id = ${board.id} for key share)`;
  const held = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .where(and(eq(tasks.board_id, home), inArray(tasks.id, task_ids)))
    .orderBy(asc(tasks.id))
    .for("no key update");
  return held.map(({ id }) => id);
}

/** Throws when one of the tasks waits for another approval already. Of held tasks the answer stays true. */
export async function requireNonePending(ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<void> {
  const conflicts = await findPending(ctx, board, task_ids);
  if (conflicts.length > 0) throw alreadyPending(conflicts);
}

/** Runs a write that makes an approval pending. The index has the last word, also over writers who hold no tasks. */
export async function keepOnePending<T>(ctx: Context, board: BoardRow, task_ids: TaskIds, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (violatedIndex(error) !== "approval_task_links_pending") throw error;
    throw alreadyPending(await findPending(ctx, board, task_ids));
  }
}

interface Conflict {
  task_id: string;
  approval_id: string;
}

const findPending = (ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<Conflict[]> =>
  ctx.db
    .select({ task_id: approval_task_links.task_id, approval_id: approval_task_links.approval_id })
    .from(approval_task_links)
    .innerJoin(approvals, eq(approvals.id, approval_task_links.approval_id))
    .where(and(eq(approvals.board_id, board.id), approval_task_links.pending, inArray(approval_task_links.task_id, task_ids)))
    .orderBy(asc(approval_task_links.task_id));

const alreadyPending = (conflicts: Conflict[]) =>
  new DomainError("conflict", "Each task can have only one pending approval.", { fields: { conflicts } });
