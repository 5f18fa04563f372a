import { eq, isNull, or, type Placeholder, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { type Filter, filterBy, filterIf } from "../lists/filter.ts";
import { Count, countedPageOf, type Page, pageQuery } from "../lists/page.ts";
import { SearchText } from "../lists/text-search.ts";
import { Id, lazyObject, QueryBoolean } from "../values/wire.ts";
import { hasOpenDependency } from "./dependency/dependency-columns.ts";
import { taskWords, tasks } from "../schema/task.sql.ts";
import { TASK_ORDERS, TaskSort } from "./task-order.ts";
import { TaskStatus } from "./task-status.ts";
import { LARGE_TASK_FIELDS, readTask, Task, taskColumns, toTask } from "./task.ts";
import { listOf } from "../lists/list.ts";

export const TaskQuery = lazyObject(() => ({
  ...pageQuery().shape,
  status: z
    .string()
    .optional()
    .describe(
      `Only tasks in this state, or in one of several separated by commas: ${TaskStatus.options.join(", ")}. \`blocked\` includes tasks with an unfinished dependency.`,
    ),
  assigned_agent_id: Id.optional().describe("Only tasks assigned to this agent."),
  unassigned: QueryBoolean.optional().describe("True: only tasks without an assignee."),
  q: SearchText,
  sort: TaskSort,
  count: Count,
}));
export type TaskQuery = z.infer<typeof TaskQuery>;
export const TaskPage = countedPageOf(Task);

const taskList = listOf({
  name: "tasks",
  table: tasks,
  columns: taskColumns,
  large: LARGE_TASK_FIELDS,
  order: TASK_ORDERS["-created_at"],
  words: taskWords(tasks),
  scan: {
    text: sql`${tasks.title} || ' ' || coalesce(${tasks.description}, '')`,
    // The order `-due_at` is left out, because no index has this order.
    orders: Object.entries(TASK_ORDERS).flatMap(([sort, order]) => (sort === "-due_at" ? [] : [order])),
  },
  skips_in_index: true,
});

/** Lists the tasks of a board, newest first unless the query has another order. */
export async function listTasks(ctx: CallerContext, board_id: string, query: TaskQuery): Promise<Page<Task>> {
  const board = await boardFor(ctx, board_id, "read");
  return taskList.read(ctx, query, {
    owner: board.id,
    order: TASK_ORDERS[query.sort ?? "-created_at"],
    filters: [
      filterBy("board_id", board.id, (id) => eq(tasks.board_id, id)),
      query.status === undefined ? null : toStatusFilter(query.status),
      filterBy("assigned_agent_id", query.assigned_agent_id, (id) => eq(tasks.assigned_agent_id, id)),
      filterIf("unassigned", query.unassigned, () => isNull(tasks.assigned_agent_id)),
    ],
    toItem: toTask,
  });
}

export async function getTask(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  need: "read" | "write" = "read",
): Promise<Task> {
  const board = await boardFor(ctx, board_id, need);
  const task = await readTask(ctx, board.id, task_id);
  if (!task) throw notFound();
  return task;
}

function toStatuses(list: string): TaskStatus[] {
  return list.split(",").map((part) => {
    const status = TaskStatus.safeParse(part.trim());
    if (!status.success) throw new DomainError("invalid", "Unsupported task status filter.");
    return status.data;
  });
}

/** A done task never counts as blocked, even if one of its dependencies was reopened. */
const isBlocked = sql`(${tasks}.status <> 'done' and ${hasOpenDependency})`;

/**
 * Returns a filter for statuses. A single status is compared by equality, because PostgreSQL can then read the page in the order of
 * the index.
 */
function toStatusFilter(list: string): Filter {
  const statuses = [...new Set(toStatuses(list))];
  const [first] = statuses;
  if (statuses.includes("blocked"))
    return filterBy("statuses or blocked", statuses.join(), (value) => or(isOneOf(value), isBlocked)!);
  return statuses.length === 1
    ? filterBy("status", first!, (value) => eq(tasks.status, value))
    : filterBy("statuses", statuses.join(), isOneOf);
}

const isOneOf = (statuses: string | Placeholder) => sql`${tasks.status} = any(string_to_array(${statuses}::text, ','))`;
