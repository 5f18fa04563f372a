import { and, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { BudgetExhausted } from "../../budget/begin-run.ts";
import { hasSpentBudget } from "../../budget/task-condition.ts";
import { boardFor, boardsOfAgent } from "../../organization/access.ts";
import type { Agent } from "../../context/actor.ts";
import { hasPendingApproval } from "../../approval/task-conditions.ts";
import { boards } from "../../schema/board.sql.ts";
import type { Context } from "../../context/context.ts";
import { rowsOf } from "../../db/database.ts";
import { RetryTransaction, withDeadlockRetry } from "../../db/retry-transaction.ts";
import { DomainError } from "../../values/errors.ts";
import { truncatable } from "../../lists/large-fields.ts";
import { isPaused } from "../../memory/paused.ts";
import { tag_assignments, tags } from "../../schema/tag.sql.ts";
import { Id, MAX_SLUG, lazyObject } from "../../values/wire.ts";
import { readLatestComments, TaskComment } from "../comment/comment.ts";
import { hasOpenDependency } from "../dependency/dependency-columns.ts";
import { HeldLease, LeaseSeconds, toHeldLease } from "./lease.ts";
import { expireLeases } from "./lease-expiry.ts";
import { Task } from "../task.ts";
import { priorityRank, tasks } from "../../schema/task.sql.ts";
import { changeLease } from "../update.ts";
import { conditionOf } from "../../lists/filter.ts";

const MAX_TAGS = 50;
const COMMENTS = 10;
/** How many boards and tasks without budget one request skips. */
const MAX_REFUSALS = 20;
/** Seconds after which an agent without work asks again. */
const RETRY_AFTER = 60;

export const TakeNextTask = lazyObject(() => ({
  board_id: Id.optional().describe("Board to choose from; by default all boards of the agent."),
  lease_seconds: LeaseSeconds,
  tags: z.array(z.string().max(MAX_SLUG)).max(MAX_TAGS).optional().describe("Slugs: only tasks with one of these tags."),
  parallel: z
    .boolean()
    .default(false)
    .describe("True: another task, although the agent holds one. Without it, an agent that holds a task gets that one again."),
})).meta({ id: "NextTaskRequest" });
export type TakeNextTask = z.infer<typeof TakeNextTask>;

export const NextTask = lazyObject(() => ({
  task: Task.nullable().describe("The task to work on, in progress and assigned to the caller; null without work."),
  lease: HeldLease.nullable().describe("The lease of the task."),
  comments: z.array(TaskComment).describe(`The latest ${COMMENTS} comments on the task, oldest first.`),
  retry_after_seconds: z.int().describe("When to ask again: 0 with a task."),
  reason: z.literal("budget_exhausted").optional().describe("Why there is no task, when there is work but no budget for it."),
  budget_ids: z.array(Id).optional().describe("The budgets without room, with `reason`."),
  ...truncatable,
})).meta({ id: "NextTask", description: "The next task of an agent." });
export type NextTask = z.infer<typeof NextTask>;

const NOTHING: NextTask = { task: null, lease: null, comments: [], retry_after_seconds: RETRY_AFTER };

/**
 * Chooses a task for the agent and starts it under a lease, or renews the lease that it has (docs/reference/tasks.md#next-task).
 * Agents that ask at the same time get different tasks, because each skips the tasks that others have locked.
 */
export async function takeNextTask(ctx: Context<Agent>, request: TakeNextTask): Promise<NextTask> {
  const board_id = request.board_id ?? ctx.actor.board_id;
  if (request.board_id !== undefined) await boardFor(ctx, request.board_id, "write");
  await expireLeases(ctx, boardCondition(ctx.actor, board_id));
  const task = await takeOne(ctx, board_id, request);
  if (task === null) return NOTHING;
  if (task instanceof BudgetExhausted) return withoutBudget(task);
  const comments = await readLatestComments(ctx, task.board_id, task.id, COMMENTS);
  return { task, lease: toHeldLease(task), comments, retry_after_seconds: 0 };
}

const boardCondition = (actor: Agent, board_id: string | null) =>
  and(conditionOf(boardsOfAgent(actor)), board_id === null ? undefined : eq(boards.id, board_id));

const withoutBudget = ({ budget_ids, retry_after_seconds }: BudgetExhausted): NextTask => ({
  ...NOTHING,
  retry_after_seconds,
  reason: "budget_exhausted",
  budget_ids,
});

async function takeOne(ctx: Context<Agent>, board_id: string | null, request: TakeNextTask) {
  try {
    return await withDeadlockRetry(ctx, async (ctx) => {
      if (!request.parallel) await waitForOwnChoice(ctx);
      return takeWithinBudgets(ctx, board_id, request);
    });
  } catch (error) {
    if (error instanceof RetryTransaction) return null;
    throw error;
  }
}

/** A budget that has no room for a chosen task may leave room for one of another board, or for one that has no such budget. */
async function takeWithinBudgets(
  ctx: Context<Agent>,
  board_id: string | null,
  request: TakeNextTask,
): Promise<Task | BudgetExhausted | null> {
  const without: Without = { board_ids: [], task_ids: [] };
  for (let refused: BudgetExhausted | null = null; ; ) {
    const chosen = await chooseTask(ctx, board_id, request, without);
    if (!chosen) return refused;
    const board = await boardFor(ctx, chosen.board_id, "write");
    const { lease_seconds } = request;
    const action = { type: "begin" as const, lease_seconds, resume: true };
    const task = await changeLease(ctx, board, chosen.id, action).catch(chooseAgain);
    if (!(task instanceof BudgetExhausted)) return task;
    refused ??= task;
    if (task.is_final || without.board_ids.length + without.task_ids.length === MAX_REFUSALS) return task;
    if (task.is_of_task) without.task_ids.push(chosen.id);
    else without.board_ids.push(chosen.board_id);
  }
}

/** The boards and tasks for which budgets have no room. */
interface Without {
  board_ids: string[];
  task_ids: string[];
}

/** Two concurrent requests of one agent must not get two tasks. So the second waits, and then finds the task of the first. */
const waitForOwnChoice = ({ db, actor }: Context<Agent>) =>
  db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`next task of ${actor.agent_id}`}, 0))`);

/** A rule refuses a chosen task only if the task or its board has changed since the choice, so choosing again helps. */
function chooseAgain(error: unknown): BudgetExhausted {
  if (error instanceof BudgetExhausted) return error;
  throw error instanceof DomainError ? new RetryTransaction() : error;
}

/**
 * Locks and returns a task: one that the agent works on, else one assigned to it in the inbox, else (for a worker) a free one.
 */
async function chooseTask(
  ctx: Context<Agent>,
  board_id: string | null,
  { tags: slugs = [], parallel }: TakeNextTask,
  { board_ids, task_ids }: Without,
) {
  const { agent_id, is_board_lead } = ctx.actor;
  // For a single board, an equality lets PostgreSQL take the order of waiting tasks from their index.
  const onBoard = (condition: SQL) => {
    const home = sql`(select id from home where ${condition})`;
    return board_id === null ? sql`${tasks.board_id} in ${home}` : sql`${tasks.board_id} = ${home}`;
  };
  const hasTag = sql`exists (select 1 from ${tag_assignments} as assignment join ${tags} as tag on tag.id = assignment.tag_id
    where assignment.task_id = ${tasks}.id and tag.slug = any(${sql.param([...slugs])}))`;
  const isTagged = slugs.length > 0 ? hasTag : sql`true`;
  const isRefused = sql`(${tasks.board_id} = any(${sql.param(board_ids)}::uuid[]) or ${tasks.id} = any(${sql.param(task_ids)}::uuid[])
    or ${hasSpentBudget(ctx.now())})`;
  // Without a refusal this is the statement of an organization without budgets.
  const isWanted = board_ids.length + task_ids.length > 0 ? sql`${isTagged} and not ${isRefused}` : isTagged;
  const mayStart = onBoard(is_board_lead ? sql`true` : sql`not only_lead`);
  const isStartable = sql`${mayStart} and ${tasks.status} = 'inbox' and not ${hasOpenDependency} and ${isWanted}
    and not ((select gated from home where id = ${tasks.board_id}) and ${hasPendingApproval})`;
  const order = sql`${priorityRank(tasks.priority)}, ${tasks.due_at}, ${tasks.created_at}, ${tasks.id}`;
  const first = sql`limit 1 for no key update skip locked`;
  const choice = sql`select ${tasks.id}, ${tasks.board_id} from ${tasks}`;
  // Expired leases have been ended by now. Without `parallel`, the agent waits for the lock on its own task: if it skipped a
  // locked task, it would get a second one.
  const mine = parallel
    ? sql`${tasks.lease_expires_at} is null and ${isWanted} order by ${order} ${first}`
    : sql`(${tasks.lease_expires_at} is not null or ${isWanted})
        order by ${tasks.lease_expires_at} is null, ${order} limit 1 for no key update`;
  const free = sql`${choice} where ${isStartable} and ${tasks.assigned_agent_id} is null
    and not exists (select 1 from resumed) and not exists (select 1 from waiting)
    order by ${tasks.assigned_agent_id}, ${order} ${first}`;
  const found = await ctx.db.execute(sql`
    with home as materialized (
      select id, only_lead_can_change_status as only_lead, block_status_changes_with_pending_approval as gated
      from ${boards} where ${boardCondition(ctx.actor, board_id)} and not ${isPaused} order by id for key share),
    resumed as materialized (
      ${choice} where ${onBoard(sql`true`)} and ${tasks.assigned_agent_id} = ${agent_id} and ${tasks.status} = 'in_progress'
        and ${mine}),
    waiting as materialized (
      ${choice} where ${isStartable} and ${tasks.assigned_agent_id} = ${agent_id} and not exists (select 1 from resumed)
      order by ${order} ${first})
    ${is_board_lead ? sql`` : sql`, free as materialized (${free})`}
    select id, board_id from resumed union all select id, board_id from waiting
    ${is_board_lead ? sql`` : sql`union all select id, board_id from free`}`);
  return rowsOf<{ id: string; board_id: string }>(found)[0] ?? null;
}
