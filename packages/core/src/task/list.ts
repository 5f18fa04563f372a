import { and, desc, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { inPlan, type Page, type PageQuery, pageQuery, readPage } from "../page.ts";
import { Id, QueryBoolean } from "../wire.ts";
import { task_dependencies } from "./dependency.sql.ts";
import { tasks } from "./task.sql.ts";
import { type Task, taskColumns, TaskStatus, toTask } from "./task.ts";

export const TaskQuery = pageQuery().extend({
  status: z
    .string()
    .optional()
    .describe(
      `Only tasks of this status, or of several with commas between: ${TaskStatus.options.join(", ")}. \`blocked\` are also those that wait for another task.`,
    ),
  assigned_agent_id: Id.optional().describe("Only tasks of this agent."),
  unassigned: QueryBoolean.optional().describe("True: only tasks that nobody has."),
});
export interface TaskQuery extends PageQuery {
  status?: string | undefined;
  assigned_agent_id?: string | undefined;
  unassigned?: boolean | undefined;
}

const newestFirst = [desc(tasks.created_at), desc(tasks.id)];

/** The tasks of a board, newest first. */
export async function listTasks(ctx: Context<User | Agent>, board_id: string, query: TaskQuery): Promise<Page<Task>> {
  const board = await boardFor(ctx, board_id, "read");
  const { status, assigned_agent_id, unassigned } = query;
  const where = and(
    eq(tasks.board_id, board.id),
    status === undefined ? undefined : inStatus(toStatuses(status)),
    assigned_agent_id === undefined ? undefined : eq(tasks.assigned_agent_id, assigned_agent_id),
    unassigned ? isNull(tasks.assigned_agent_id) : undefined,
  );
  // An offset walks over the index alone: what belongs to a task is read for those of the page.
  const first = (offset: number) =>
    ctx.db
      .select({ created_at: tasks.created_at, id: tasks.id })
      .from(tasks)
      .where(where)
      .orderBy(...newestFirst)
      .limit(1)
      .offset(offset);
  const total = ctx.db.$count(tasks, where);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: taskColumns, total })
        .from(tasks)
        .where(offset === 0 ? where : and(where, sql`(${tasks.created_at}, ${tasks.id}) <= ${first(offset)}`))
        .orderBy(...newestFirst)
        .limit(inPlan(limit)),
    toTask,
  );
}

export async function getTask(
  ctx: Context<User | Agent>,
  board_id: string,
  task_id: string,
  need: "read" | "write" = "read",
): Promise<Task> {
  const board = await boardFor(ctx, board_id, need);
  const [row] = await ctx.db
    .select(taskColumns)
    .from(tasks)
    .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)));
  if (!row) throw notFound();
  return toTask(row);
}

function toStatuses(list: string): TaskStatus[] {
  return list.split(",").map((part) => {
    const status = TaskStatus.safeParse(part.trim());
    if (!status.success) throw new DomainError("invalid", "Unsupported task status filter.");
    return status.data;
  });
}

const waits = sql`(${tasks}.status <> 'done' and exists (
  select 1 from ${task_dependencies} as link join ${tasks} as other on other.id = link.depends_on_task_id
  where link.task_id = ${tasks}.id and other.status <> 'done'))`;

/** A single status is put as an equation, so that its index has the order too. */
function inStatus(statuses: TaskStatus[]): SQL {
  const [first, ...others] = new Set(statuses);
  const stored = others.length > 0 ? inArray(tasks.status, statuses) : eq(tasks.status, first!);
  return statuses.includes("blocked") ? or(stored, waits)! : stored;
}
