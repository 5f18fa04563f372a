import { and, asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type CallerContext, readAll } from "../context/context.ts";
import { Approval, readApprovals } from "../approval/approval.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { readLatestComments, TaskComment } from "./comment/comment.ts";
import { task_dependencies } from "../schema/task-dependency.sql.ts";
import { getTask } from "./list.ts";
import { tasks } from "../schema/task.sql.ts";
import { Task } from "./task.ts";
import { lazyObject } from "../values/wire.ts";

export const COMMENTS = 20;
const MAX_APPROVALS = 200;
const MAX_DEPENDENCIES = 1_000;

const TaskDependency = lazyObject(() => Task.pick({ id: true, title: true, status: true }).shape).meta({
  id: "TaskDependency",
  description: "A task that must be done first.",
});

export const TaskDetail = lazyObject(() => ({
  ...Task.shape,
  comments: z.array(TaskComment).describe(`The latest ${COMMENTS} comments on the task, oldest first.`),
  dependencies: z.array(TaskDependency).describe("The tasks of `depends_on_task_ids`, in the same order."),
  approvals: z.array(Approval).describe(`The approvals that are linked to it, newest first, at most ${MAX_APPROVALS}.`),
})).meta({ id: "TaskDetail", description: "A task with everything that an agent needs to work on it." });
export type TaskDetail = z.infer<typeof TaskDetail>;

/** Returns a task with its latest comments, its dependencies and its approvals. */
export async function getTaskDetail(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  max_comments = COMMENTS,
): Promise<TaskDetail> {
  const task = await getTask(ctx, board_id, task_id);
  const isLinked = sql`exists (select 1 from ${approval_task_links} as link
    where link.approval_id = ${approvals.id} and link.task_id = ${task.id})`;
  const [comments, dependencies, linked] = await readAll(ctx, [
    () => readLatestComments(ctx, task.board_id, task.id, max_comments),
    () => readDependencies(ctx, task),
    () => readApprovals(ctx, and(eq(approvals.board_id, task.board_id), isLinked)!, MAX_APPROVALS),
  ]);
  return { ...task, comments, dependencies, approvals: linked };
}

const readDependencies = (ctx: CallerContext, task: Task) =>
  ctx.db
    .select({ id: tasks.id, title: tasks.title, status: tasks.status })
    .from(task_dependencies)
    .innerJoin(tasks, eq(tasks.id, task_dependencies.depends_on_task_id))
    .where(and(eq(task_dependencies.task_id, task.id), eq(tasks.board_id, task.board_id)))
    .orderBy(asc(task_dependencies.position), asc(task_dependencies.id))
    .limit(MAX_DEPENDENCIES);
