import type { BoardRow } from "../organization/access.ts";
import type { Agent, User } from "../context/actor.ts";
import { DomainError } from "../values/errors.ts";
import type { TaskStatus } from "./task-status.ts";
import type { tasks } from "../schema/task.sql.ts";

// The rules for moving a task, as tables and pure functions (docs/reference/tasks.md#moving-a-task).

export type TaskRow = typeof tasks.$inferSelect;

/** The caller's role towards the tasks of a board. A main agent is a worker on every board. */
export type TaskRole = "user" | "worker" | "lead";

export const toTaskRole = (actor: User | Agent, board: BoardRow): TaskRole =>
  actor.type === "user" ? "user" : actor.is_board_lead && actor.board_id === board.id ? "lead" : "worker";

/** What the rules that choose the assignee after a move need to know. */
interface AssigneeInput {
  from: TaskStatus;
  /** The assignee before the move; null if the task is unassigned. */
  current_id: string | null;
  /** The assignee in the request; undefined if the request does not contain one. */
  requested_id: string | null | undefined;
  /** True if the request contains a status, even the current one. */
  status_requested: boolean;
  /** The agent that moves the task; null if a person moves it. */
  acting_agent_id: string | null;
  lead_id: string | null;
  /** The worker that last moved the task to review and is still on the board. */
  review_submitter_id: string | null;
}

type AssigneeRule = (move: AssigneeInput) => string | null;

const unassigned: AssigneeRule = () => null;
const actingAgent: AssigneeRule = (move) => move.acting_agent_id;
const currentOrActingAgent: AssigneeRule = (move) => move.current_id ?? move.acting_agent_id;
const requestedOrUnassigned: AssigneeRule = (move) => move.requested_id ?? null;
const requestedOrCurrent: AssigneeRule = (move) => (move.requested_id === undefined ? move.current_id : move.requested_id);
const leadOrUnassigned: AssigneeRule = (move) => move.lead_id;
const leadOrRequested: AssigneeRule = (move) => move.lead_id ?? move.requested_id ?? null;
/** A task that a lead sends back from review is assigned to the worker that submitted it, regardless of the request. */
const reviewSubmitterOrRequested: AssigneeRule = (move) =>
  move.from === "review" ? move.review_submitter_id : (move.requested_id ?? null);
/** A worker claims a task by sending its own id, or by sending `in_progress` for a task in progress that is unassigned. */
const claimOrCurrent: AssigneeRule = (move) => {
  if (move.requested_id !== undefined) return move.acting_agent_id;
  return move.status_requested && move.from === "in_progress" ? (move.current_id ?? move.acting_agent_id) : move.current_id;
};

/** The assignee of a task that enters a status. */
const ON_ENTERING: Readonly<Record<TaskStatus, Readonly<Record<TaskRole, AssigneeRule>>>> = {
  inbox: { user: requestedOrUnassigned, worker: unassigned, lead: reviewSubmitterOrRequested },
  in_progress: { user: requestedOrCurrent, worker: actingAgent, lead: requestedOrCurrent },
  review: { user: leadOrRequested, worker: leadOrUnassigned, lead: leadOrUnassigned },
  blocked: { user: requestedOrCurrent, worker: currentOrActingAgent, lead: requestedOrCurrent },
  done: { user: requestedOrCurrent, worker: currentOrActingAgent, lead: requestedOrCurrent },
};

/** The assignee of a task whose status stays the same. */
const ON_STAYING: Readonly<Record<TaskRole, AssigneeRule>> = {
  user: requestedOrCurrent,
  worker: claimOrCurrent,
  lead: requestedOrCurrent,
};

export const nextAssignee = (to: TaskStatus, role: TaskRole, move: AssigneeInput): string | null =>
  (to === move.from ? ON_STAYING[role] : ON_ENTERING[to][role])(move);

export type TaskTimes = Pick<TaskRow, "in_progress_at" | "last_started_at" | "done_at" | "left_done_at">;

/** Returns the times of a task after a move. A new task counts as moved from the inbox. */
export function nextTimes(
  from: TaskStatus,
  to: TaskStatus,
  { in_progress_at, last_started_at, done_at, left_done_at }: TaskTimes,
  now: Date,
): TaskTimes {
  if (from === to) return { in_progress_at, last_started_at, done_at, left_done_at };
  const doneTimes = from === "done" ? { done_at: null, left_done_at: now } : { done_at, left_done_at };
  switch (to) {
    case "in_progress":
      return { ...doneTimes, in_progress_at: from === "done" ? now : (in_progress_at ?? now), last_started_at: now };
    case "inbox":
      return { ...doneTimes, in_progress_at: null, last_started_at };
    case "done":
      return { ...doneTimes, in_progress_at, last_started_at, done_at: now };
    case "review":
    case "blocked":
      return { ...doneTimes, in_progress_at, last_started_at };
  }
}

export const NEW_TASK_TIMES: TaskTimes = { in_progress_at: null, last_started_at: null, done_at: null, left_done_at: null };

/** Returns whether a task in this state may have unfinished dependencies. */
export const allowsOpenDependencies = (status: TaskStatus): boolean => status === "inbox" || status === "blocked";

type BoardRules = Pick<
  BoardRow,
  | "require_approval_for_done"
  | "require_review_before_done"
  | "comment_required_for_review"
  | "block_status_changes_with_pending_approval"
  | "only_lead_can_change_status"
>;

interface GateInput {
  /** Whether a linked approval is pending. */
  pending: boolean;
  /** Whether a linked approval was granted after the task last left `done`. */
  approved: boolean;
  /** Whether the assignee has commented since the work started, or the move comes with a comment. */
  commented: boolean;
}

interface Gate {
  flag: keyof BoardRules;
  /** Whether the gate applies to a move. */
  applies: (from: TaskStatus, to: TaskStatus) => boolean;
  isOpen: (facts: GateInput, from: TaskStatus) => boolean;
  error: () => DomainError;
}

const conflictError = (text: string) => () => new DomainError("conflict", text, { fields: { blocked_by_task_ids: [] } });

/** The gates, in the order in which they are checked. A gate applies only if its flag is on for the board. */
const GATES: readonly Gate[] = [
  {
    flag: "block_status_changes_with_pending_approval",
    applies: () => true,
    isOpen: ({ pending }) => !pending,
    error: conflictError("Task status cannot be changed while a linked approval is pending."),
  },
  {
    flag: "require_review_before_done",
    applies: (_from, to) => to === "done",
    isOpen: (_facts, from) => from === "review",
    error: conflictError("Task can only be marked done from review when the board rule is enabled."),
  },
  {
    flag: "require_approval_for_done",
    applies: (_from, to) => to === "done",
    isOpen: ({ approved }) => approved,
    error: conflictError("Task can only be marked done when a linked approval has been approved."),
  },
  {
    flag: "comment_required_for_review",
    applies: (_from, to) => to === "review",
    isOpen: ({ commented }) => commented,
    error: () => new DomainError("invalid", "Comment is required."),
  },
];

/** Throws the error of the first gate that is closed. If the status stays the same, no gate applies. */
export function requireOpenGates(rules: BoardRules, from: TaskStatus, to: TaskStatus, facts: GateInput): void {
  if (from === to) return;
  const closed = GATES.find((gate) => rules[gate.flag] && gate.applies(from, to) && !gate.isOpen(facts, from));
  if (closed) throw closed.error();
}
