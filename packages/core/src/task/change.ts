import type { BoardRow } from "../access.ts";
import { DomainError } from "../errors.ts";
import type { Wish } from "./input.ts";
import type { TaskStatus } from "./task.ts";
import { assigneeAfter, type Mover, passGates, type TaskRow, type Times, timesAfter } from "./status.ts";

/** All that decides about a change of a task. Everything was read under the task's lock, but `seen_free`. */
export interface Situation {
  board: BoardRow;
  mover: Mover;
  /** The agent that asks; null for a person. */
  self: string | null;
  task: TaskRow;
  wish: Wish;
  now: Date;
  /** Nobody had the task when the request first looked at it. */
  seen_free: boolean;
  lead: string | null;
  /** The wished assignee as it was found; null when it does not exist or none was wished. */
  assignee: { on_board: boolean; is_lead: boolean } | null;
  missing_tag_ids: string[];
  /** What is wrong with the wished dependencies. */
  dependency_problem: DomainError | null;
  /** Unfinished dependencies, as they are after the change. */
  open_dependencies: string[];
  reviewed_for: string | null;
  pending_approval: boolean;
  approved: boolean;
  /** Agents that commented since the work began. */
  commenters: string[];
}

export type Outcome = Times & { status: TaskStatus; assigned_agent_id: string | null };

type Check = (situation: Situation) => void;

/** Checks in the order of the contract's table (tasks.md §4): the first that fails is what the caller is told. */
const CHECKS: Readonly<Record<Mover, readonly Check[]>> = {
  user: [tagsExist, dependenciesFit, assigneeFits],
  worker: [heldByNoOther, onlyFieldsOfWorkers, mayMoveTasks, workerIsNotBlocked, notClaimedMeanwhile],
  lead: [onlyFieldsOfLeads, dependenciesFit, tagsExist, leadIsNotBlocked, assigneeFits],
};

/** What becomes of a task, or the reason why not. Custom fields are checked after it. */
export function decide(situation: Situation): Outcome {
  const { board, mover, task, wish, now, commenters } = situation;
  for (const check of CHECKS[mover]) check(situation);
  if (mover === "user" && isSentBack(situation))
    return { ...timesAfter(task.status, "inbox", task, now), status: "inbox", assigned_agent_id: null, in_progress_at: null };
  const status = targetOf(situation);
  const assigned_agent_id = assigneeAfter(status, mover, {
    ...situation,
    from: task.status,
    held: task.assigned_agent_id,
    sent: wish.assigned_agent_id,
    status_sent: wish.status !== undefined,
  });
  const spoke = [task.assigned_agent_id, assigned_agent_id].some((id) => id !== null && commenters.includes(id));
  passGates(board, task.status, status, {
    pending: situation.pending_approval,
    approved: situation.approved,
    commented: spoke || wish.comment !== undefined,
  });
  return { ...timesAfter(task.status, status, task, now), status, assigned_agent_id };
}

const targetOf = ({ wish, task }: Situation): TaskStatus => wish.status ?? task.status;
const moves = (situation: Situation) => targetOf(situation) !== situation.task.status;
/** Nothing blocks a done task. */
const staysDone = (situation: Situation) => situation.task.status === "done" && !moves(situation);

/** A person's change of a task that waits for another one puts it back into the inbox. */
function isSentBack(situation: Situation): boolean {
  const { wish, open_dependencies } = situation;
  const asked = wish.status !== undefined || wish.assigned_agent_id !== undefined || wish.depends_on_task_ids !== undefined;
  return asked && open_dependencies.length > 0 && targetOf(situation) !== "blocked" && !staysDone(situation);
}

export const missingTags = (missing_tag_ids: string[]) =>
  new DomainError("not_found", "One or more tags do not exist in this organization.", { fields: { missing_tag_ids } });

function tagsExist({ missing_tag_ids }: Situation): void {
  if (missing_tag_ids.length > 0) throw missingTags(missing_tag_ids);
}

function dependenciesFit(situation: Situation): void {
  const { wish, dependency_problem } = situation;
  if (wish.depends_on_task_ids === undefined) return;
  if (staysDone(situation)) throw new DomainError("conflict", "Cannot change task dependencies after a task is done.");
  if (dependency_problem) throw dependency_problem;
}

function assigneeFits({ wish, mover, assignee }: Situation): void {
  if (wish.assigned_agent_id) checkAssignee(mover, assignee);
}

/** Whether an agent may be given a task of this board. A lead gives work to others than leads. */
export function checkAssignee(mover: Mover, assignee: Situation["assignee"]): void {
  if (!assignee) throw new DomainError("not_found", "Not Found");
  if (mover === "lead" && assignee.is_lead) throw new DomainError("forbidden", "Board leads cannot assign tasks to themselves.");
  if (!assignee.on_board) throw new DomainError("conflict", "Assignee must be an agent of this board.");
}

/** What a worker may do only with a task that no other agent has. */
const touches = ({ status, assigned_agent_id }: Wish) => status !== undefined || assigned_agent_id !== undefined;
const isHeldByOther = ({ task, self }: Situation) => task.assigned_agent_id !== null && task.assigned_agent_id !== self;

function heldByNoOther(situation: Situation): void {
  if (touches(situation.wish) && isHeldByOther(situation) && !situation.seen_free)
    throw new DomainError("forbidden", "Task is assigned to another agent.", { code: "task_assignee_mismatch" });
}

function onlyFieldsOfWorkers({ wish, self }: Situation): void {
  const { status: _s, comment: _c, custom_field_values: _f, assigned_agent_id, ...others } = wish;
  if (isAsked(others) || (assigned_agent_id !== undefined && assigned_agent_id !== self))
    throw fieldForbidden("Agents can change status, comment and custom fields of a task, and assign it to themselves.");
}

function onlyFieldsOfLeads({ wish: { title, description, priority, due_at } }: Situation): void {
  if (isAsked({ title, description, priority, due_at }))
    throw fieldForbidden("Board leads can change status, assignee, dependencies, tags, custom fields and comment of a task.");
}

const isAsked = (fields: object) => Object.values(fields).some((value) => value !== undefined);
const fieldForbidden = (text: string) => new DomainError("forbidden", text, { code: "task_update_field_forbidden" });

function mayMoveTasks(situation: Situation): void {
  if (situation.board.only_lead_can_change_status && moves(situation))
    throw new DomainError("forbidden", "Only board leads can change task status.");
}

function workerIsNotBlocked(situation: Situation): void {
  const { open_dependencies } = situation;
  if (touches(situation.wish) && waitsInVain(situation)) throw blocked(open_dependencies);
}

function leadIsNotBlocked(situation: Situation): void {
  const { open_dependencies, wish } = situation;
  const gives = Boolean(wish.assigned_agent_id) && open_dependencies.length > 0 && !staysDone(situation);
  const asked = wish.status !== undefined || wish.depends_on_task_ids !== undefined;
  if (gives || (asked && waitsInVain(situation))) throw blocked(open_dependencies);
}

/** The task would be worked on before its dependencies are done. */
const waitsInVain = (situation: Situation) =>
  situation.open_dependencies.length > 0 && !mayWait(targetOf(situation)) && !staysDone(situation);

const mayWait = (status: TaskStatus) => status === "inbox" || status === "blocked";

/** A task that waits for others can be neither given to anybody nor worked on. */
export const blocked = (blocked_by_task_ids: string[]) =>
  new DomainError("conflict", "Task is blocked by unfinished dependencies.", {
    fields: { code: "task_blocked_cannot_transition", blocked_by_task_ids },
  });

function notClaimedMeanwhile(situation: Situation): void {
  if (touches(situation.wish) && isHeldByOther(situation))
    throw new DomainError("conflict", "Task was claimed by another agent.", { fields: { code: "task_already_claimed" } });
}
