import type { BoardRow } from "../organization/access.ts";
import { DomainError } from "../values/errors.ts";
import { type BoardAgent, canWorkOn } from "../notification/board-agents.ts";
import { alreadyClaimedError, blockedError, missingTagsError } from "./errors.ts";
import type { TaskPatch } from "./input.ts";
import type { TaskStatus } from "./task-status.ts";
import {
  allowsOpenDependencies,
  nextAssignee,
  nextTimes,
  requireOpenGates,
  type TaskRole,
  type TaskRow,
  type TaskTimes,
} from "./status-rules.ts";

/** What the checks need to know about an assignee. */
export interface Assignee {
  on_board: boolean;
  is_lead: boolean;
}

/** Everything that an update depends on. All of it was read under the lock of the task, except `was_unassigned`. */
export interface TransitionInput {
  board: BoardRow;
  role: TaskRole;
  /** The agent that makes the update; null if a person makes it. */
  acting_agent_id: string | null;
  task: TaskRow;
  patch: TaskPatch;
  now: Date;
  /**
   * Whether the task had no assignee when a worker's request to move it arrived. It is not read for claims, because the error of
   * a refused claim does not depend on it.
   */
  was_unassigned: boolean;
  lead_id: string | null;
  /** The requested assignee; null if the agent does not exist or the request has no assignee. */
  assignee: Assignee | null;
  missing_tag_ids: string[];
  /** Why the requested dependencies are not allowed. */
  dependency_error: DomainError | null;
  /** The ids of the dependencies that the task will have after the update and that are not done. */
  open_dependencies: string[];
  review_submitter_id: string | null;
  pending_approval: boolean;
  approved: boolean;
  /** The agents that have commented since work on the task started. */
  commenters: string[];
}

export type TransitionResult = TaskTimes & { status: TaskStatus; assigned_agent_id: string | null };

type Check = (input: TransitionInput) => void;

/**
 * The checks in their documented order (docs/reference/tasks.md#checks-of-an-update). The error of the first failed check is
 * thrown.
 */
const CHECKS: Readonly<Record<TaskRole, readonly Check[]>> = {
  user: [requireTagsExist, requireValidDependencies, requireValidAssignee],
  worker: [requireNotAssignedToOther, requireWorkerFields, requireStatusPermission, requireWorkerNotBlocked, requireNotClaimed],
  lead: [requireLeadFields, requireValidDependencies, requireTagsExist, requireLeadNotBlocked, requireValidAssignee],
};

/** Returns the task's next state, or throws the error of the failed check. Custom fields are checked later. */
export function decideTransition(input: TransitionInput): TransitionResult {
  const { board, role, task, patch, now, commenters } = input;
  for (const check of CHECKS[role]) check(input);
  if (role === "user" && goesBackToInbox(input))
    return { ...nextTimes(task.status, "inbox", task, now), status: "inbox", assigned_agent_id: null, in_progress_at: null };
  const status = toTargetStatus(input);
  const assigned_agent_id = nextAssignee(status, role, {
    ...input,
    from: task.status,
    current_id: task.assigned_agent_id,
    requested_id: patch.assigned_agent_id,
    status_requested: patch.status !== undefined,
  });
  const hasCommented = [task.assigned_agent_id, assigned_agent_id].some((id) => id !== null && commenters.includes(id));
  requireOpenGates(board, task.status, status, {
    pending: input.pending_approval,
    approved: input.approved,
    commented: hasCommented || patch.comment !== undefined,
  });
  return { ...nextTimes(task.status, status, task, now), status, assigned_agent_id };
}

const toTargetStatus = ({ patch, task }: TransitionInput): TaskStatus => patch.status ?? task.status;
const changesStatus = (input: TransitionInput) => toTargetStatus(input) !== input.task.status;
/** Returns whether the task is done and stays done. Dependencies do not block such a task. */
const staysDone = (input: TransitionInput) => input.task.status === "done" && !changesStatus(input);

const isWaiting = (input: TransitionInput) => input.open_dependencies.length > 0 && !staysDone(input);
const isBlocked = (input: TransitionInput) => isWaiting(input) && !allowsOpenDependencies(toTargetStatus(input));

/**
 * Returns whether an update by a person returns the task to the inbox because of its open dependencies. An agent gets an error
 * instead.
 */
function goesBackToInbox(input: TransitionInput): boolean {
  const { patch } = input;
  const affectsInboxRule = changesStatusOrAssignee(patch) || patch.depends_on_task_ids !== undefined;
  return affectsInboxRule && isWaiting(input) && toTargetStatus(input) !== "blocked";
}

function requireTagsExist({ missing_tag_ids }: TransitionInput): void {
  if (missing_tag_ids.length > 0) throw missingTagsError(missing_tag_ids);
}

function requireValidDependencies(input: TransitionInput): void {
  const { patch, dependency_error } = input;
  if (patch.depends_on_task_ids === undefined) return;
  if (staysDone(input)) throw new DomainError("conflict", "Cannot change task dependencies after a task is done.");
  if (dependency_error) throw dependency_error;
}

function requireValidAssignee({ patch, role, assignee }: TransitionInput): void {
  if (patch.assigned_agent_id) requireAssignable(role, assignee);
}

export function findAssignee(
  board: BoardRow,
  agents: readonly BoardAgent[],
  assignee_id: string | null | undefined,
): Assignee | null {
  const agent = agents.find(({ agent_id }) => agent_id === assignee_id);
  return agent ? { on_board: canWorkOn(board, agent), is_lead: agent.is_board_lead } : null;
}

/** Throws unless the agent exists and is on the board. A lead may assign tasks only to agents that are not leads. */
export function requireAssignable(role: TaskRole, assignee: Assignee | null): void {
  if (!assignee) throw new DomainError("not_found", "Not Found");
  if (role === "lead" && assignee.is_lead) throw new DomainError("forbidden", "Board leads cannot assign tasks to themselves.");
  if (!assignee.on_board) throw new DomainError("conflict", "Assignee must be an agent of this board.");
}

/** Returns whether the request changes the status or the assignee. A worker may do so only while no other agent has the task. */
export const changesStatusOrAssignee = ({ status, assigned_agent_id }: TaskPatch) =>
  status !== undefined || assigned_agent_id !== undefined;
const isAssignedToOther = ({ task, acting_agent_id }: TransitionInput) =>
  task.assigned_agent_id !== null && task.assigned_agent_id !== acting_agent_id;

/**
 * Returns whether a worker tries to take the task. If another agent has the task, a claim always fails with "already claimed", no
 * matter whether the other agent took it long ago or just before.
 */
export const isClaim = ({ status, assigned_agent_id }: TaskPatch, acting_agent_id: string | null) =>
  status === "in_progress" || (assigned_agent_id !== undefined && assigned_agent_id === acting_agent_id);

function requireNotAssignedToOther(input: TransitionInput): void {
  const { patch, acting_agent_id, was_unassigned } = input;
  if (!changesStatusOrAssignee(patch) || !isAssignedToOther(input)) return;
  if (isClaim(patch, acting_agent_id)) throw alreadyClaimedError();
  if (!was_unassigned)
    throw new DomainError("forbidden", "Task is assigned to another agent.", { code: "task_assignee_mismatch" });
}

function requireWorkerFields({ patch, acting_agent_id }: TransitionInput): void {
  const { status: _s, comment: _c, custom_field_values: _f, assigned_agent_id, ...others } = patch;
  if (hasAnyField(others) || (assigned_agent_id !== undefined && assigned_agent_id !== acting_agent_id))
    throw fieldForbiddenError("Agents can change status, comment and custom fields of a task, and assign it to themselves.");
}

function requireLeadFields({ patch }: TransitionInput): void {
  const {
    status: _s,
    assigned_agent_id: _a,
    depends_on_task_ids: _d,
    tag_ids: _t,
    custom_field_values: _f,
    comment: _c,
    ...others
  } = patch;
  if (hasAnyField(others))
    throw fieldForbiddenError(
      "Board leads can change status, assignee, dependencies, tags, custom fields and comment of a task.",
    );
}

const hasAnyField = (fields: object) => Object.values(fields).some((value) => value !== undefined);
const fieldForbiddenError = (message: string) => new DomainError("forbidden", message, { code: "task_update_field_forbidden" });

function requireStatusPermission(input: TransitionInput): void {
  if (input.board.only_lead_can_change_status && changesStatus(input))
    throw new DomainError("forbidden", "Only board leads can change task status.");
}

function requireWorkerNotBlocked(input: TransitionInput): void {
  if (changesStatusOrAssignee(input.patch) && isBlocked(input)) throw blockedError(input.open_dependencies);
}

function requireLeadNotBlocked(input: TransitionInput): void {
  const { patch } = input;
  const assigns = Boolean(patch.assigned_agent_id) && isWaiting(input);
  const changesStatusOrDependencies = patch.status !== undefined || patch.depends_on_task_ids !== undefined;
  if (assigns || (changesStatusOrDependencies && isBlocked(input))) throw blockedError(input.open_dependencies);
}

function requireNotClaimed(input: TransitionInput): void {
  if (changesStatusOrAssignee(input.patch) && isAssignedToOther(input)) throw alreadyClaimedError();
}
