import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { BoardRow } from "../../organization/access.ts";
import { boards } from "../../schema/board.sql.ts";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import { DomainError } from "../../values/errors.ts";
import { task_dependencies } from "../../schema/task-dependency.sql.ts";
import { tasks } from "../../schema/task.sql.ts";

/** The result of checking the dependencies of a request (docs/reference/tasks.md#dependencies). */
interface RequestedDependencies {
  error: DomainError | null;
  /** Dependencies that are not done. */
  open_ids: string[];
}

/**
 * Makes changes of a board's dependencies run one at a time, because two changes that are each valid could together form a cycle.
 * Call it before any task is locked. It locks the board first, as the removal of a board does.
 */
export async function lockDependencies(ctx: Context, board: BoardRow): Promise<void> {
  await ctx.db.execute(sql`
    select pg_advisory_xact_lock(hashtextextended(${`dependencies ${board.id}`}, 0))
    from (select id from ${boards} where id = ${board.id} and organization_id = ${board.organization_id} for key share) as locked`);
}

/**
 * Checks the requested dependencies of a task and locks them; `task_id` is null for a new task. Without the lock, a request that
 * reopens a dependency at the same time would not see this task, because the new link is not committed yet.
 */
export async function readRequestedDependencies(
  ctx: Context,
  board: BoardRow,
  requested_ids: readonly string[],
  task_id: string | null,
): Promise<RequestedDependencies> {
  if (requested_ids.length === 0) return { error: null, open_ids: [] };
  if (task_id !== null && requested_ids.includes(task_id))
    return { error: new DomainError("invalid", "Task cannot depend on itself."), open_ids: [] };
  const found = await ctx.db
    .select({ id: tasks.id, status: tasks.status })
    .from(tasks)
    .where(and(inArray(tasks.id, [...requested_ids]), eq(tasks.board_id, board.id)))
    .orderBy(asc(tasks.id))
    .for("share");
  const status = new Map(found.map((task) => [task.id, task.status]));
  const missing_task_ids = requested_ids.filter((id) => !status.has(id));
  if (missing_task_ids.length > 0) {
    const message = "One or more dependency tasks do not exist on this board.";
    return { error: new DomainError("not_found", message, { fields: { missing_task_ids } }), open_ids: [] };
  }
  const open_ids = requested_ids.filter((id) => status.get(id) !== "done");
  if (task_id === null || !(await isReachable(ctx, board, requested_ids, task_id))) return { error: null, open_ids };
  const message = "Dependency cycle detected. Remove the cycle before saving.";
  return { error: new DomainError("conflict", message), open_ids };
}

/**
 * Returns whether a path of dependencies leads from these tasks to the given task. `union` ends the search even if old data
 * contains a cycle.
 */
async function isReachable(ctx: Context, board: BoardRow, from: readonly string[], task_id: string): Promise<boolean> {
  const found = await ctx.db.execute(sql`
    with recursive walked(id) as (
      select unnest(${sql.param([...from])}::uuid[])
      union
      select link.depends_on_task_id from ${task_dependencies} as link
      join walked on link.task_id = walked.id where link.board_id = ${board.id})
    select exists (select 1 from walked where id = ${task_id}) as reached`);
  return rowsOf<{ reached: boolean }>(found)[0]!.reached;
}

/** Replaces the dependencies of a task and stores the order of the ids. */
export async function replaceDependencies(ctx: Context, board: BoardRow, task_id: string, ids: readonly string[]): Promise<void> {
  await ctx.db
    .delete(task_dependencies)
    .where(and(eq(task_dependencies.task_id, task_id), eq(task_dependencies.board_id, board.id)));
  await addDependencies(ctx, board, task_id, ids);
}

/** Adds dependencies to a task that has none yet. */
export async function addDependencies(ctx: Context, board: BoardRow, task_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await ctx.db
    .insert(task_dependencies)
    .values(ids.map((depends_on_task_id, position) => ({ board_id: board.id, task_id, depends_on_task_id, position })));
}
