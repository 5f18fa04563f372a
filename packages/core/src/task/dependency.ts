import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { BoardRow } from "../access.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { DomainError } from "../errors.ts";
import { task_dependencies } from "./dependency.sql.ts";
import { tasks } from "./task.sql.ts";

/** What is known of wished dependencies (contract tasks.md §6). */
export interface WishedDependencies {
  problem: DomainError | null;
  /** Those that are not done. */
  open: string[];
}

/**
 * Changes of a board's dependencies happen one after the other: of two that are harmless by themselves, both together
 * could close a circle. Taken before any task is locked, and after the board, as by whoever removes the board.
 */
export async function lockDependencies(ctx: Context, board: BoardRow): Promise<void> {
  await ctx.db.execute(sql`
    select pg_advisory_xact_lock(hashtextextended(${`dependencies ${board.id}`}, 0))
    from (select id from ${boards} where id = ${board.id} and organization_id = ${board.organization_id} for key share) as held`);
}

/**
 * Looks at what a task is to depend on; `task_id` is null for a new one. The dependencies are held: none can be reopened
 * before the link exists by which its reopening finds this task.
 */
export async function readWished(
  ctx: Context,
  board: BoardRow,
  wished: readonly string[],
  task_id: string | null,
): Promise<WishedDependencies> {
  if (wished.length === 0) return { problem: null, open: [] };
  if (task_id !== null && wished.includes(task_id))
    return { problem: new DomainError("invalid", "Task cannot depend on itself."), open: [] };
  const found = await ctx.db
    .select({ id: tasks.id, status: tasks.status })
    .from(tasks)
    .where(and(inArray(tasks.id, [...wished]), eq(tasks.board_id, board.id)))
    .orderBy(asc(tasks.id))
    .for("share");
  const status = new Map(found.map((one) => [one.id, one.status]));
  const missing_task_ids = wished.filter((id) => !status.has(id));
  if (missing_task_ids.length > 0) {
    const message = "One or more dependency tasks do not exist on this board.";
    return { problem: new DomainError("not_found", message, { fields: { missing_task_ids } }), open: [] };
  }
  const open = wished.filter((id) => status.get(id) !== "done");
  if (task_id === null || !(await leadsTo(ctx, board, wished, task_id))) return { problem: null, open };
  const message = "Dependency cycle detected. Remove the cycle before saving.";
  return { problem: new DomainError("conflict", message), open };
}

/** Whether a task can be reached by walking dependencies from these; a circle elsewhere does not matter and ends the walk. */
async function leadsTo(ctx: Context, board: BoardRow, from: readonly string[], task_id: string): Promise<boolean> {
  const found = await ctx.db.execute(sql`
    with recursive walked(id) as (
      select unnest(${sql.param([...from])}::uuid[])
      union
      select link.depends_on_task_id from ${task_dependencies} as link
      join walked on link.task_id = walked.id where link.board_id = ${board.id})
    select exists (select 1 from walked where id = ${task_id}) as reached`);
  return rowsOf<{ reached: boolean }>(found)[0]!.reached;
}

/** Makes a task depend on these in this order, in the place of those it depends on. */
export async function replaceDependencies(ctx: Context, board: BoardRow, task_id: string, ids: readonly string[]): Promise<void> {
  await ctx.db
    .delete(task_dependencies)
    .where(and(eq(task_dependencies.task_id, task_id), eq(task_dependencies.board_id, board.id)));
  await addDependencies(ctx, board, task_id, ids);
}

/** The same for a task that depends on none. */
export async function addDependencies(ctx: Context, board: BoardRow, task_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await ctx.db
    .insert(task_dependencies)
    .values(ids.map((depends_on_task_id, position) => ({ board_id: board.id, task_id, depends_on_task_id, position })));
}
