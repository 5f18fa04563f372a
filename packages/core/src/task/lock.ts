import { asc, eq, and, getTableColumns, inArray, type Placeholder, sql } from "drizzle-orm";
import { activity_events } from "../schema/activity.sql.ts";
import type { BoardRow } from "../organization/access.ts";
import { agents } from "../schema/agent.sql.ts";
import { hasPendingApproval, isApproved } from "../approval/task-conditions.ts";
import { boards } from "../schema/board.sql.ts";
import { type Context, RetryTransaction } from "../context/context.ts";
import { actingValue, preparedActingAs } from "../db/change-actor.ts";
import { preparedQuery } from "../db/prepared.ts";
import { notFound } from "../values/errors.ts";
import { taskTagIds } from "../tag/task-tags.ts";
import { task_dependencies } from "../schema/task-dependency.sql.ts";
import { dependencies, dependentIds, dependents } from "./dependency/dependency-columns.ts";
import type { TaskRow } from "./status-rules.ts";
import { isTask } from "./task.ts";
import { tasks } from "../schema/task.sql.ts";
import { task_transitions } from "../schema/task-transition.sql.ts";

/** Which other tasks to lock together with a task. */
interface LockOptions {
  /** The ids of other tasks of the board to lock as well. */
  also_ids?: readonly string[] | undefined;
  /** Whether to lock the tasks that depend on this task, because the change may return them to the inbox. */
  dependents: boolean;
}

interface LockedTask {
  task: TaskRow;
  /** The ids of all locked tasks; null if the dependents are not locked. */
  locked_ids: readonly string[] | null;
}

/** Returns a subquery that locks a board and returns its id. Boards are always locked before their tasks. */
export const lockedBoard = ({ id, organization_id }: Record<"id" | "organization_id", string | Placeholder>) =>
  sql`(select id from ${boards} where id = ${id} and organization_id = ${organization_id} for key share)`;

/**
 * Locks a task and the other tasks that the change may affect, until the transaction ends. To avoid deadlocks, every transaction
 * locks the board first (PostgreSQL runs the subquery first) and then the tasks by id. Other transactions can still insert rows
 * that refer to the tasks, such as comments.
 */
export async function lockTask(
  ctx: Context,
  board: BoardRow,
  task_id: string,
  { also_ids = [], dependents }: LockOptions,
): Promise<LockedTask> {
  const { id: board_id, organization_id } = board;
  const values = { task_id, board_id, organization_id, task_ids: [task_id, ...also_ids], ...actingValue(ctx) };
  const locked = await selectLocked(ctx.db, dependents, also_ids.length > 0).execute(values);
  const task = locked.find(({ id }) => id === task_id);
  if (!task) throw notFound();
  return { task, locked_ids: dependents ? locked.map(({ id }) => id) : null };
}

const selectLocked = preparedQuery((db, dependents: boolean, others: boolean) => {
  const task_id = sql.placeholder("task_id");
  const board = { id: sql.placeholder("board_id"), organization_id: sql.placeholder("organization_id") };
  // A single id is not passed as a list: PostgreSQL cannot estimate the length of a list and would plan the query each time.
  const taskIds = others ? sql`unnest(${sql.placeholder("task_ids")}::uuid[])` : sql`${task_id}::uuid`;
  const condition =
    dependents || others
      ? inArray(tasks.id, sql`(select ${taskIds} ${dependents ? sql`union ${dependentIds(task_id)}` : sql``})`)
      : eq(tasks.id, task_id);
  // Descriptions can be long, and a change only needs the description of its own task.
  const description = sql<string | null>`case when ${tasks.id} = ${task_id} then ${tasks.description} end`;
  return db
    .select({ ...getTableColumns(tasks), description })
    .from(tasks)
    .where(and(eq(tasks.board_id, lockedBoard(board)), condition, preparedActingAs))
    .orderBy(asc(tasks.id))
    .for("no key update");
});

const selectAssignee = preparedQuery((db) => db.select({ assigned_agent_id: tasks.assigned_agent_id }).from(tasks).where(isTask));

/** Reads the current assignee of a task without waiting for a lock. Returns undefined if the task does not exist. */
export async function findAssigneeId(ctx: Context, board: BoardRow, task_id: string): Promise<string | null | undefined> {
  const [row] = await selectAssignee(ctx.db).execute({ board_id: board.id, task_id });
  return row?.assigned_agent_id;
}

/** The agents that wrote a non-blank comment since work on the task last started. */
const commenters = sql<string[]>`coalesce((
  select jsonb_agg(distinct comment.agent_id) from ${activity_events} as comment
  where comment.task_id = ${tasks}.id and comment.event_type = 'task.comment' and comment.agent_id is not null
    and comment.message ~ '\\S' and (${tasks}.last_started_at is null or comment.created_at >= ${tasks}.last_started_at)), '[]')`;

/** The worker that last moved the task to review. Agents that have left the board do not count. */
const review_submitter_id = sql<string | null>`(
  select step.agent_id from ${task_transitions} as step join ${agents} as agent on agent.id = step.agent_id
  where step.task_id = ${tasks}.id and step.to_status = 'review' and step.from_status is distinct from 'review'
    and agent.board_id = ${tasks}.board_id and not agent.is_board_lead
  order by step.at desc, step.id desc limit 1)`;

/** The lead's latest comment since the task last moved to review. */
const review_comment = sql<string | null>`(
  select comment.message from ${activity_events} as comment join ${agents} as agent on agent.id = comment.agent_id
  where comment.task_id = ${tasks}.id and comment.event_type = 'task.comment' and agent.is_board_lead
    and comment.message ~ '\\S' and comment.created_at >= (
      select max(step.at) from ${task_transitions} as step where step.task_id = ${tasks}.id and step.to_status = 'review')
  order by comment.created_at desc, comment.seq desc limit 1)`;

/** When the transaction began, by the clock of the database. New rows get the same time. */
const now = sql<Date>`now()::timestamptz(3)`.mapWith(tasks.created_at);

const columns = {
  now,
  dependencies,
  dependents,
  tag_ids: taskTagIds,
  pending_approval: hasPendingApproval,
  approved: isApproved,
  commenters,
  review_submitter_id,
  review_comment,
};

const hasUnlockedDependent = sql<boolean>`exists (
  select 1 from ${task_dependencies} as link
  where link.depends_on_task_id = ${tasks}.id and link.task_id <> all(${sql.placeholder("locked_ids")}::uuid[]))`;

const selectFacts = preparedQuery((db, dependents: boolean) =>
  db
    .select({ ...columns, is_stale: dependents ? hasUnlockedDependent : sql<boolean>`false` })
    .from(tasks)
    .where(isTask),
);

/**
 * Reads what a change depends on. The statement must begin after the task is locked. An earlier statement would not see what
 * other transactions committed during the wait. If a dependent was added during the wait, the transaction starts again, because
 * locking it now could deadlock.
 */
export async function readTaskFacts(
  ctx: Context,
  task: { board_id: string; task_id: string; locked_ids: LockedTask["locked_ids"] },
) {
  const [row] = await selectFacts(ctx.db, task.locked_ids !== null).execute(task);
  const { is_stale, ...facts } = row!;
  if (is_stale) throw new RetryTransaction();
  return facts;
}
export type TaskFacts = Awaited<ReturnType<typeof readTaskFacts>>;
