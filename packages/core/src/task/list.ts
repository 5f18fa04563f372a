import { and, eq, isNull, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { type Filter, filterBy, filterIf, where } from "../lists/filter.ts";
import { type SortOrder, toOrderBy } from "../lists/keyset.ts";
import { type Page, type PageQuery, pageQuery } from "../lists/page.ts";
import { readPreparedPage } from "../lists/prepared-page.ts";
import { readSearchPage } from "../lists/search-page.ts";
import { SearchText } from "../lists/text-search.ts";
import { Id, lazyObject, QueryBoolean } from "../values/wire.ts";
import { hasOpenDependency } from "./dependency/dependency-columns.ts";
import { taskWords, tasks } from "../schema/task.sql.ts";
import { TASK_ORDERS, TaskSort } from "./task-order.ts";
import { TaskStatus } from "./task-status.ts";
import { LARGE_TASK_FIELDS, readTask, type Task, taskColumns, toTask } from "./task.ts";

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
}));
export interface TaskQuery extends PageQuery {
  status?: string | undefined;
  assigned_agent_id?: string | undefined;
  unassigned?: boolean | undefined;
  /** Words that the title or the description has. */
  q?: string | undefined;
  sort?: TaskSort | undefined;
}

const searchedTasks = { table: tasks, id: tasks.id, vector: taskWords(tasks) };

/** The tasks of a board, newest first unless another order is asked for. */
export async function listTasks(ctx: CallerContext, board_id: string, query: TaskQuery): Promise<Page<Task>> {
  const board = await boardFor(ctx, board_id, "read");
  const { status, assigned_agent_id, unassigned, q, sort = "-created_at" } = query;
  const order = TASK_ORDERS[sort];
  const list = { name: "tasks", owner: board.id, order, columns: taskColumns, large: LARGE_TASK_FIELDS };
  const filters = [filterBy("board_id", board.id, (id) => eq(tasks.board_id, id))];
  if (status !== undefined) filters.push(toStatusFilter(status));
  if (assigned_agent_id !== undefined)
    filters.push(filterBy("assigned_agent_id", assigned_agent_id, (id) => eq(tasks.assigned_agent_id, id)));
  if (unassigned) filters.push(filterIf("unassigned", () => isNull(tasks.assigned_agent_id)));
  if (q !== undefined) {
    const search = { ...searchedTasks, owners: [board.id], text: q };
    return readSearchPage(ctx, query, { ...list, where: where(filters), search }, toTask);
  }
  return readPreparedPage(
    ctx,
    query,
    {
      ...list,
      filters,
      build: ({ where, after, limit, from_start }) => ({
        total: ctx.db.$count(tasks, where),
        select: (columns) =>
          ctx.db
            .select(columns)
            .from(tasks)
            .where(and(where, from_start ? after : startsAtOffset(order, where)))
            .orderBy(...toOrderBy(order))
            .limit(limit as unknown as number),
      }),
    },
    toTask,
  );
}

/** The offset is applied to an index-only query; the expensive columns are then read for the page alone. */
function startsAtOffset(order: SortOrder<never>, where: SQL | undefined): SQL {
  const keys = sql.join(
    order.map(({ by }) => sql`${by}`),
    sql`, `,
  );
  const start = sql`select ${keys} from ${tasks} where ${where} order by ${sql.join(toOrderBy(order), sql`, `)} limit 1 offset ${sql.placeholder("offset")}`;
  return sql`(${keys}) ${sql.raw(order[0]!.descending ? "<=" : ">=")} (${start})`;
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

/** A done task is never blocked. */
const isBlocked = sql`(${tasks}.status <> 'done' and ${hasOpenDependency})`;

/** A single status is compared by equality, so that its index also gives the order. */
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
