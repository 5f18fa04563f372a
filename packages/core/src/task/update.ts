import { sql } from "drizzle-orm";
import { beginRunInBudgets } from "../budget/begin-run.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { type Agent, agentIdOf } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type CallerContext, type Context, FinalWrites, isInTransaction, transaction } from "../context/context.ts";
import { parseMentions } from "../values/mention.ts";
import { placeholders, preparedQuery } from "../db/prepared.ts";
import { type BoardAgent, findBoardLead, readBoardAgents } from "../notification/board-agents.ts";
import { listMissingTagIds, replaceTags } from "../tag/assignment.ts";
import { type LinkChanges, toChangedFields } from "./board-events.ts";
import { storeFieldValues, validateFieldValues } from "./field/field-value.ts";
import { lockDependencies, readRequestedDependencies, replaceDependencies } from "./dependency/dependency.ts";
import { type TaskUpdate, toUpdateEffects } from "./effects.ts";
import { findAssigneeId, lockTask, readTaskFacts, type TaskFacts } from "./lock.ts";
import { type MatchResults, matchSentValues, withMatchResults } from "./field/match-patterns.ts";
import { plainFields, type TaskPatch, toTaskPatch, type UpdateTask } from "./input.ts";
import { notInReview } from "./errors.ts";
import { decideLease } from "./lease/lease-checks.ts";
import { requireFence } from "./lease/fence.ts";
import { type LeaseAction, nextLease } from "./lease/lease-state.ts";
import { type ReturnedTask, returnDependentsToInbox } from "./dependency/return-dependents.ts";
import { type TaskRow, toTaskRole } from "./status-rules.ts";
import { storeEffects } from "./store-effects.ts";
import { readTaskAgents } from "./task-agents.ts";
import { isTask, readTask, type Task, taskColumns, toTask } from "./task.ts";
import { tasks } from "../schema/task.sql.ts";
import { changesStatusOrAssignee, decideTransition, findAssignee, isClaim, type TransitionResult } from "./transition-checks.ts";

/**
 * Changes a task by the rules of its board and the caller's role (docs/reference/tasks.md#updating-a-task). The checks, the row,
 * its links and all effects, including effects on dependent tasks, are in one transaction.
 */
export async function updateTask(
  ctx: CallerContext,
  board_id: string,
  task_id: string,
  input: UpdateTask,
  fence: number | null = null,
  review: Review = {},
): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  const patch = toTaskPatch(input);
  const isMove = changesStatusOrAssignee(patch) && !isClaim(patch, agentIdOf(ctx.actor));
  const isWorkersMove = isMove && toTaskRole(ctx.actor, board) === "worker";
  // Read before waiting for the lock. If the task is unassigned now but assigned once it is locked, another agent has claimed it
  // meanwhile.
  const was_unassigned = isWorkersMove && (await findAssigneeId(ctx, board, task_id)) === null;
  const match = () => matchSentValues(ctx, board, patch.custom_field_values);
  return withMatchResults(match, (matched) =>
    changeTask(ctx, board, task_id, { patch, was_unassigned, matched, fence, ...review }),
  );
}

interface Review {
  /** The comments of the review, for the message to the agent. Set if a task in review is sent back to an agent. */
  requested?: string | null;
}

type TaskChange = Pick<UpdateInput, "patch" | "was_unassigned" | "matched"> & LeaseRequest & Review;

interface LeaseRequest {
  /** The fence in the request; null if there is none. */
  fence: number | null;
  lease_action?: LeaseAction;
}

/**
 * Begins or returns an agent's lease of a task by moving the task, under the rules of an update. It does not retry after a deadlock
 * if the caller has opened a transaction, because then only the caller can repeat it.
 */
export function changeLease(
  ctx: Context<Agent>,
  board: BoardRow,
  task_id: string,
  lease_action: LeaseAction,
  fence: number | null = null,
): Promise<Task> {
  const change = toLeaseChange(lease_action, fence);
  if (!isInTransaction(ctx)) return changeTask(ctx, board, task_id, change);
  return transaction(ctx, (ctx) => changeInTransaction(ctx, board, task_id, change, false));
}

/** Works like `changeLease`, as the last part of a transaction. The function of the transaction has to return the writes. */
export const prepareLeaseChange = (
  ctx: Context<Agent>,
  board: BoardRow,
  task_id: string,
  lease_action: LeaseAction,
): Promise<FinalWrites<Task>> => changeInTransaction(ctx, board, task_id, toLeaseChange(lease_action, null), false);

function toLeaseChange(lease_action: LeaseAction, fence: number | null): TaskChange {
  const patch: TaskPatch = { status: lease_action.type === "begin" ? "in_progress" : "inbox" };
  return { patch, was_unassigned: false, matched: new Map(), fence, lease_action };
}

const changeTask = (ctx: CallerContext, board: BoardRow, task_id: string, change: TaskChange): Promise<Task> =>
  transaction(ctx, (ctx, isRetry) => changeInTransaction(ctx, board, task_id, change, isRetry));

async function changeInTransaction(
  ctx: CallerContext,
  board: BoardRow,
  task_id: string,
  change: TaskChange,
  isRetry: boolean,
): Promise<FinalWrites<Task>> {
  const { patch, fence, requested } = change;
  if (patch.depends_on_task_ids || isRetry) await lockDependencies(ctx, board);
  // A lease only moves a task between `inbox` and `in_progress`, which does not affect the tasks that depend on it.
  const dependents = patch.status !== undefined && change.lease_action === undefined;
  const { before, facts, agents } = await lockAndRead(ctx, board, task_id, patch, dependents);
  await requireFence(ctx, before, fence);
  if (requested !== undefined && before.status !== "review") throw notInReview();
  const update = { ...change, board, before, facts, agents, links: toLinkChanges(patch, facts) };
  const result = await decideUpdate(ctx, update);
  if (beginsRun(ctx, update, result)) await beginRunInBudgets(ctx, board, task_id);
  const { writeRow, ...stored } = await storeLinks(ctx, update, result);
  const writeEffects = (returned: readonly ReturnedTask[]) => {
    const { comment } = patch;
    const { review_comment, dependents } = facts;
    const done = { actor: ctx.actor, board, agents, before, ...stored, comment, review_comment, requested, returned, dependents };
    return storeEffects(ctx, toUpdateEffects(done));
  };
  const wasReopened = before.status === "done" && stored.after.status !== "done";
  if (!wasReopened) return new FinalWrites(async () => (await Promise.all([writeRow(), writeEffects([])]))[0]);
  const task = await writeRow();
  const returned = await returnDependentsToInbox(ctx, board, before.id);
  return new FinalWrites(async () => {
    await writeEffects(returned);
    return task;
  });
}

/**
 * Locks the task and reads everything that the change depends on, in one round trip. If dependents are locked too, the reads wait
 * for the lock, because they need the ids of the dependents.
 */
async function lockAndRead(ctx: CallerContext, board: BoardRow, task_id: string, patch: TaskPatch, dependents: boolean) {
  const { depends_on_task_ids: also_ids, assigned_agent_id, comment } = patch;
  // All agents of the board are read only if the comment mentions some, because mentions contain names instead of ids.
  const readAgents = () =>
    comment !== undefined && parseMentions(comment).size > 0
      ? readBoardAgents(ctx, board, assigned_agent_id ? [assigned_agent_id] : [])
      : readTaskAgents(ctx, board, task_id, [assigned_agent_id, agentIdOf(ctx.actor)]);
  const read = (locked_ids: readonly string[] | null) =>
    Promise.all([readTaskFacts(ctx, { board_id: board.id, task_id, locked_ids }), readAgents()]);
  const locking = lockTask(ctx, board, task_id, { also_ids, dependents });
  const reading = dependents ? locking.then(({ locked_ids }) => read(locked_ids)) : read(null);
  // If there is no task, `locking` throws the error that the caller gets. An error of `reading` is then ignored.
  reading.catch(() => {});
  const { task: before } = await locking;
  const [facts, agents] = await reading;
  return { before, facts, agents };
}

interface UpdateInput extends LeaseRequest {
  board: BoardRow;
  before: TaskRow;
  patch: TaskPatch;
  facts: TaskFacts;
  agents: readonly BoardAgent[];
  was_unassigned: boolean;
  /** The results of matching the sent values against the patterns of their custom fields. */
  matched: MatchResults;
  /** Which of the task's lists the patch changes. A list that equals the stored list does not count. */
  links: Pick<LinkChanges, "tag_ids" | "depends_on_task_ids">;
}

const toLinkChanges = ({ tag_ids, depends_on_task_ids }: TaskPatch, facts: TaskFacts): UpdateInput["links"] => ({
  tag_ids: tag_ids !== undefined && !isSameList(tag_ids, facts.tag_ids),
  depends_on_task_ids: depends_on_task_ids !== undefined && !isSameList(depends_on_task_ids, toIds(facts.dependencies)),
});

const isSameList = (list: readonly string[], other: readonly string[]) =>
  list.length === other.length && list.every((id, index) => id === other[index]);

const toIds = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

/** Returns whether an agent starts a new run with this change instead of continuing its current run. */
function beginsRun(ctx: CallerContext, { before }: UpdateInput, after: TransitionResult): ctx is Context<Agent> {
  if (ctx.actor.type !== "agent" || after.status !== "in_progress" || after.assigned_agent_id === null) return false;
  return before.run_status !== "running" || before.run_agent_id !== after.assigned_agent_id;
}

async function decideUpdate(ctx: CallerContext, update: UpdateInput): Promise<TransitionResult> {
  const { board, before, patch, facts, agents, was_unassigned, links } = update;
  const { now, pending_approval, approved, commenters, review_submitter_id } = facts;
  const dependencies = links.depends_on_task_ids
    ? await readRequestedDependencies(ctx, board, patch.depends_on_task_ids!, before.id)
    : { error: null, open_ids: toIds(facts.dependencies.filter(({ open }) => open)) };
  const transition = {
    board,
    role: toTaskRole(ctx.actor, board),
    acting_agent_id: agentIdOf(ctx.actor),
    task: before,
    patch,
    now,
    was_unassigned,
    lead_id: findBoardLead(board, agents)?.agent_id ?? null,
    assignee: findAssignee(board, agents, patch.assigned_agent_id),
    missing_tag_ids: await listMissingTagIds(ctx, board.organization_id, patch.tag_ids ?? []),
    dependency_error: dependencies.error,
    open_dependencies: dependencies.open_ids,
    review_submitter_id,
    pending_approval,
    approved,
    commenters,
  };
  return update.lease_action ? decideLease(transition, update.lease_action) : decideTransition(transition);
}

interface StoredLinks extends Pick<TaskUpdate, "after" | "is_changed" | "changed_fields"> {
  writeRow: () => Promise<Task>;
}

/**
 * Writes tags, dependencies and custom fields. They are written before the task's row, because the statement that writes the row
 * returns them.
 */
async function storeLinks(ctx: CallerContext, update: UpdateInput, result: TransitionResult): Promise<StoredLinks> {
  const { board, before, patch, links, matched } = update;
  const { tag_ids, depends_on_task_ids, custom_field_values } = patch;
  const values = custom_field_values ? await validateFieldValues(ctx, board, custom_field_values, before.id, matched) : [];
  const changes = changedFields(before, { ...plainFields(patch), ...result });
  const lease = nextLease({
    before,
    after: result,
    acting_agent_id: agentIdOf(ctx.actor),
    action: update.lease_action ?? null,
    has_comment: patch.comment !== undefined,
    now: ctx.now(),
  });
  const entersReview = result.status === "review" && before.status !== "review";
  const submitted_by_agent_id = entersReview ? (before.assigned_agent_id ?? agentIdOf(ctx.actor)) : before.submitted_by_agent_id;
  const lease_changes = changedFields(before, { ...lease, submitted_by_agent_id });
  if (links.tag_ids) await replaceTags(ctx, before.id, tag_ids!);
  if (links.depends_on_task_ids) await replaceDependencies(ctx, board, before.id, depends_on_task_ids!);
  await storeFieldValues(ctx, before.id, values);
  const link_changes = { ...links, custom_field_values: values.length > 0 };
  const is_changed = !isEmpty(changes) || Object.values(link_changes).includes(true);
  // An update that only begins or renews a lease does not count as a change: there is no event, and `updated_at` stays the same.
  const writeRow = () =>
    is_changed || !isEmpty(lease_changes)
      ? updateRow(ctx, before, { ...changes, ...lease_changes }, is_changed)
      : readTask(ctx, board.id, before.id).then((task) => task!);
  return {
    writeRow,
    after: { ...before, ...changes, ...lease_changes },
    is_changed,
    changed_fields: toChangedFields(changes, link_changes),
  };
}

async function updateRow(
  ctx: CallerContext,
  { id, board_id, run_id }: TaskRow,
  changes: Partial<TaskRow>,
  is_changed: boolean,
): Promise<Task> {
  const names = (Object.keys(changes) as (keyof TaskRow)[]).toSorted();
  const statement = updateColumns(ctx.db, is_changed, changes.left_done_at instanceof Date, ...names);
  const [row] = await statement.execute({ ...changes, board_id, task_id: id });
  if (row!.run_id !== run_id) ctx.meter.record("RunsStarted", 1);
  return toTask(row!);
}

const updateColumns = preparedQuery((db, is_changed: boolean, left_done: boolean, ...names: (keyof TaskRow)[]) => {
  // An approval that was granted while this transaction waited for the lock must not allow the next move to `done`. So
  // `left_done_at` is the current time, not the start of the transaction.
  const left_done_at = left_done ? { left_done_at: sql`clock_timestamp()` } : {};
  return db
    .update(tasks)
    .set({ ...placeholders(names), ...left_done_at, updated_at: is_changed ? sql`now()` : sql`${tasks.updated_at}` })
    .where(isTask)
    .returning(taskColumns);
});
