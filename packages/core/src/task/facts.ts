import { and, asc, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { activity_events } from "../activity/activity.sql.ts";
import type { BoardRow } from "../access.ts";
import { agents } from "../agent/agent.sql.ts";
import { approval_task_links, approvals } from "../approval/approval.sql.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { StartOver } from "../db/giving-way.ts";
import { notFound } from "../errors.ts";
import { tag_assignments } from "../tag/tag.sql.ts";
import { task_dependencies } from "./dependency.sql.ts";
import type { TaskRow } from "./status.ts";
import { tasks } from "./task.sql.ts";
import { task_transitions } from "./transition.sql.ts";

/** What is to be held with a task. */
interface Hold {
  /** Other tasks of the board. */
  also?: readonly string[] | undefined;
  /** The tasks that wait for it: they may be told, or sent back. */
  dependents: boolean;
}

export interface HeldTask {
  task: TaskRow;
  /** Ids of all that is held, or null when the tasks that wait for this one are not. */
  held: readonly string[] | null;
}

/**
 * A task, held until the transaction ends, with all others that the change may touch. They are locked by id, as everybody
 * locks them, so that nobody waits in a circle, and after the board, which the inner query takes, as whoever removes it.
 * Rows elsewhere can refer to them meanwhile.
 */
export async function holdTask(
  ctx: Context,
  board: BoardRow,
  task_id: string,
  { also = [], dependents }: Hold,
): Promise<HeldTask> {
  const home = sql`(select id from ${boards} where id = ${board.id} and organization_id = ${board.organization_id} for key share)`;
  const waiting = sql`union select link.task_id from ${task_dependencies} as link where link.depends_on_task_id = ${task_id}`;
  // Of a list whose length it does not know PostgreSQL expects the worst, and makes its plan anew each time.
  const named = also.length > 0 ? sql`unnest(${sql.param([task_id, ...also])}::uuid[])` : sql`${task_id}::uuid`;
  const these =
    dependents || also.length > 0
      ? inArray(tasks.id, sql`(select ${named} ${dependents ? waiting : sql``})`)
      : eq(tasks.id, task_id);
  // Of the others the text is not needed, which may be long.
  const description = sql<string | null>`case when ${tasks.id} = ${task_id} then ${tasks.description} end`;
  const held = await ctx.db
    .select({ ...getTableColumns(tasks), description })
    .from(tasks)
    .where(and(eq(tasks.board_id, home), these))
    .orderBy(asc(tasks.id))
    .for("no key update");
  const task = held.find(({ id }) => id === task_id);
  if (!task) throw notFound();
  return { task, held: dependents ? held.map(({ id }) => id) : null };
}

/** Who has a task right now, without waiting for anybody; undefined for a task that is not there. */
export async function readHolder(ctx: Context, board: BoardRow, task_id: string): Promise<string | null | undefined> {
  const [row] = await ctx.db
    .select({ assigned_agent_id: tasks.assigned_agent_id })
    .from(tasks)
    .where(and(eq(tasks.id, task_id), eq(tasks.board_id, board.id)));
  return row?.assigned_agent_id;
}

/** A task that waits for this one. */
interface Dependent extends Pick<TaskRow, "id" | "status" | "assigned_agent_id"> {
  open: boolean;
}

const dependencies = sql<{ id: string; open: boolean }[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', other.id, 'open', other.status <> 'done') order by link.position, link.id)
  from ${task_dependencies} as link join ${tasks} as other on other.id = link.depends_on_task_id
  where link.task_id = ${tasks}.id), '[]')`;

const dependents = sql<Dependent[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', other.id, 'open', other.status <> 'done', 'status', other.status,
    'assigned_agent_id', other.assigned_agent_id) order by other.created_at, other.id)
  from ${task_dependencies} as link join ${tasks} as other on other.id = link.task_id
  where link.depends_on_task_id = ${tasks}.id), '[]')`;

const tag_ids = sql<string[]>`coalesce((
  select jsonb_agg(given.tag_id order by given.position, given.id)
  from ${tag_assignments} as given where given.task_id = ${tasks}.id), '[]')`;

const pending_approval = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link where link.task_id = ${tasks}.id and link.pending)`;

/** Granted after the task last left done: an older approval was for the work of then. */
const approved = sql<boolean>`exists (
  select 1 from ${approval_task_links} as link join ${approvals} as approval on approval.id = link.approval_id
  where link.task_id = ${tasks}.id and approval.board_id = ${tasks}.board_id and approval.status = 'approved'
    and (${tasks}.left_done_at is null or approval.resolved_at > ${tasks}.left_done_at))`;

const commenters = sql<string[]>`coalesce((
  select jsonb_agg(distinct comment.agent_id) from ${activity_events} as comment
  where comment.task_id = ${tasks}.id and comment.event_type = 'task.comment' and comment.agent_id is not null
    and comment.message ~ '\\S' and (${tasks}.last_started_at is null or comment.created_at >= ${tasks}.last_started_at)), '[]')`;

/** The agent that was no lead and moved the task to review most recently, if it still is on the board and no lead. */
const reviewed_for = sql<string | null>`(
  select step.agent_id from ${task_transitions} as step join ${agents} as agent on agent.id = step.agent_id
  where step.task_id = ${tasks}.id and step.to_status = 'review' and step.from_status is distinct from 'review'
    and agent.board_id = ${tasks}.board_id and not agent.is_board_lead
  order by step.at desc, step.id desc limit 1)`;

/** What the lead said with or after the last move to review. */
const review_comment = sql<string | null>`(
  select comment.message from ${activity_events} as comment join ${agents} as agent on agent.id = comment.agent_id
  where comment.task_id = ${tasks}.id and comment.event_type = 'task.comment' and agent.is_board_lead
    and comment.message ~ '\\S' and comment.created_at >= (
      select max(step.at) from ${task_transitions} as step where step.task_id = ${tasks}.id and step.to_status = 'review')
  order by comment.created_at desc, comment.seq desc limit 1)`;

/** What the database's clock says at the start of the transaction, which is also what new rows are stamped with. */
const now = sql<Date>`now()::timestamptz(3)`.mapWith(tasks.created_at);

const columns = { now, dependencies, dependents, tag_ids, pending_approval, approved, commenters, reviewed_for, review_comment };

/**
 * Everything around a task that decides about its change, in one statement. Read after the task was locked, and not with
 * it: what others committed while the lock was waited for is seen only by a later statement. A task that has come to wait
 * for this one meanwhile is not held, and out of turn it would be waited for: then everything starts over, and keeps the
 * board's dependencies as they are.
 */
export async function readFacts(ctx: Context, { task, held }: HeldTask) {
  const late = sql<boolean>`exists (
    select 1 from ${task_dependencies} as link
    where link.depends_on_task_id = ${tasks}.id and link.task_id <> all(${sql.param(held)}::uuid[]))`;
  const [row] = await ctx.db
    .select({ ...columns, late: held ? late : sql<boolean>`false` })
    .from(tasks)
    .where(and(eq(tasks.id, task.id), eq(tasks.board_id, task.board_id)));
  const { late: isLate, ...facts } = row!;
  if (isLate) throw new StartOver();
  return facts;
}
export type Facts = Awaited<ReturnType<typeof readFacts>>;
