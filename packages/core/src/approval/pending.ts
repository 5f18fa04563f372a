import { and, asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { BoardRow } from "../organization/access.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { DomainError } from "../values/errors.ts";
import { tasks } from "../schema/task.sql.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";

/** Ids of tasks, or a subquery that returns them. */
type TaskIds = readonly string[] | SQL;

/** Returns a subquery for the ids of an approval's tasks. */
export const taskIdsOfApproval = (approval_id: string): SQL =>
  sql`(select link.task_id from ${approval_task_links} as link where link.approval_id = ${approval_id})`;

/**
 * Locks tasks of a board until the transaction ends and returns the ids of the tasks that exist. Moving a task takes the same
 * locks, so a gate sees a decision completely or not at all. To avoid deadlocks, all code locks the board first and then its tasks
 * by id.
 */
export async function lockTasks(ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<string[]> {
  const lockedBoard = sql`(select ${boards}.id from ${boards} where ${boards}.id = ${board.id} for key share)`;
  const locked = await ctx.db
    .select({ id: tasks.id })
    .from(tasks)
    .where(and(eq(tasks.board_id, lockedBoard), inArray(tasks.id, task_ids)))
    .orderBy(asc(tasks.id))
    .for("no key update");
  return locked.map(({ id }) => id);
}

/** Throws `conflict` if one of the tasks already has a pending approval. The caller must have locked the tasks. */
export async function requireNoPendingApproval(ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<void> {
  const conflicts = await findPendingApprovals(ctx, board, task_ids);
  if (conflicts.length > 0) throw alreadyPendingError(conflicts);
}

/** Runs a write that makes an approval pending. Turns a violation of the unique index into `conflict`. */
export async function mapPendingConflict<T>(
  ctx: Context,
  board: BoardRow,
  task_ids: TaskIds,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (violatedUniqueIndex(error) !== "approval_task_links_pending") throw error;
    throw alreadyPendingError(await findPendingApprovals(ctx, board, task_ids));
  }
}

interface Conflict {
  task_id: string;
  approval_id: string;
}

const findPendingApprovals = (ctx: Context, board: BoardRow, task_ids: TaskIds): Promise<Conflict[]> =>
  ctx.db
    .select({ task_id: approval_task_links.task_id, approval_id: approval_task_links.approval_id })
    .from(approval_task_links)
    .innerJoin(approvals, eq(approvals.id, approval_task_links.approval_id))
    .where(and(eq(approvals.board_id, board.id), approval_task_links.pending, inArray(approval_task_links.task_id, task_ids)))
    .orderBy(asc(approval_task_links.task_id));

const alreadyPendingError = (conflicts: Conflict[]) =>
  new DomainError("conflict", "Each task can have only one pending approval.", { fields: { conflicts } });
