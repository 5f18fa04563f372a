import { and, eq, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { CallerContext } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { toOrderBy } from "../keyset.ts";
import { type Page, type PageQuery, pageQuery, readShortenedPage } from "../page.ts";
import { readSearchPage } from "../search-page.ts";
import { inlineLimit } from "../db/statement-cache.ts";
import { SearchText } from "../text-search.ts";
import { Id, QueryBoolean } from "../wire.ts";
import { hasOpenDependency } from "./dependency-columns.ts";
import { taskWords, tasks } from "./task.sql.ts";
import { TASK_ORDERS, TaskSort } from "./task-order.ts";
import { TaskStatus } from "./task-status.ts";
import { LARGE_TASK_FIELDS, readTask, type Task, taskColumns, toTask } from "./task.ts";

export const TaskQuery = pageQuery().extend({
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
});
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
  const orderBy = toOrderBy(order);
  const where = and(
    eq(tasks.board_id, board.id),
    status === undefined ? undefined : statusCondition(toStatuses(status)),
    assigned_agent_id === undefined ? undefined : eq(tasks.assigned_agent_id, assigned_agent_id),
    unassigned ? isNull(tasks.assigned_agent_id) : undefined,
  );
  const list = { name: "tasks", owner: board.id, order, columns: taskColumns, large: LARGE_TASK_FIELDS };
  if (q !== undefined) {
    const search = { ...searchedTasks, owners: [board.id], text: q };
    return readSearchPage(ctx, query, { ...list, where, search }, toTask);
  }
  const keys = sql.join(
    order.map(({ by }) => sql`${by}`),
    sql`, `,
  );
  // The offset is applied to an index-only query; the expensive columns are then read for the page alone.
  const startsAt = (offset: number) => {
    const start = sql`select ${keys} from ${tasks} where ${where} order by ${sql.join(orderBy, sql`, `)} limit 1 offset ${offset}`;
    return sql`(${keys}) ${sql.raw(order[0]!.descending ? "<=" : ">=")} (${start})`;
  };
  const total = ctx.db.$count(tasks, where);
  return readShortenedPage(
    ctx,
    query,
    {
      ...list,
      total,
      select: (columns, { after, limit, offset }) =>
        ctx.db
          .select(columns)
          .from(tasks)
          .where(and(where, offset === 0 ? after : startsAt(offset)))
          .orderBy(...orderBy)
          .limit(inlineLimit(limit)),
    },
    toTask,
  );
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
function statusCondition(statuses: TaskStatus[]): SQL {
  const [first, ...others] = new Set(statuses);
  const stored = others.length > 0 ? inArray(tasks.status, statuses) : eq(tasks.status, first!);
  return statuses.includes("blocked") ? or(stored, isBlocked)! : stored;
}
