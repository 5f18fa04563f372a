import type { BoardRow } from "../access.ts";
import { DomainError } from "../errors.ts";
import type { TaskStatus } from "./task.ts";
import type { tasks } from "./task.sql.ts";

/** The rules of moving tasks (contract tasks.md §4, §5), as tables and pure functions: what is known goes in, what becomes of the task comes out. */
export type TaskRow = typeof tasks.$inferSelect;

/** In which capacity somebody changes a task. A main agent works on tasks like a worker. */
export type Mover = "user" | "worker" | "lead";

/** What the choice of an assignee depends on. */
export interface Move {
  from: TaskStatus;
  /** Who has the task; null when it is free. */
  held: string | null;
  /** The assignee that was asked for; undefined when none was named. */
  sent: string | null | undefined;
  /** A status was sent, be it the present one. */
  status_sent: boolean;
  /** The agent that moves the task; null for a person. */
  self: string | null;
  /** The board's lead. */
  lead: string | null;
  /** The last worker that moved the task to review. */
  reviewed_for: string | null;
}

type Assignee = (move: Move) => string | null;

const nobody: Assignee = () => null;
const self: Assignee = (move) => move.self;
const selfWhenFree: Assignee = (move) => move.held ?? move.self;
const sentElseNobody: Assignee = (move) => move.sent ?? null;
const sentElseSame: Assignee = (move) => (move.sent === undefined ? move.held : move.sent);
const leadElseNobody: Assignee = (move) => move.lead;
const leadElseSent: Assignee = (move) => move.lead ?? move.sent ?? null;
/** Work that a lead sends back goes to whoever did it, whatever was asked for. */
const reworkElseSent: Assignee = (move) => (move.from === "review" ? move.reviewed_for : (move.sent ?? null));
/** A worker takes a task by naming itself, or by repeating that a free task is in progress. */
const claim: Assignee = (move) => {
  if (move.sent !== undefined) return move.self;
  return move.status_sent && move.from === "in_progress" ? (move.held ?? move.self) : move.held;
};

/** Who has a task once it has entered a status. */
const ON_ENTERING: Readonly<Record<TaskStatus, Readonly<Record<Mover, Assignee>>>> = {
  inbox: { user: sentElseNobody, worker: nobody, lead: reworkElseSent },
  in_progress: { user: sentElseSame, worker: self, lead: sentElseSame },
  review: { user: leadElseSent, worker: leadElseNobody, lead: leadElseNobody },
  blocked: { user: sentElseSame, worker: selfWhenFree, lead: sentElseSame },
  done: { user: sentElseSame, worker: selfWhenFree, lead: sentElseSame },
};

/** Who has it when its status stays. */
const ON_STAYING: Readonly<Record<Mover, Assignee>> = { user: sentElseSame, worker: claim, lead: sentElseSame };

export const assigneeAfter = (to: TaskStatus, mover: Mover, move: Move): string | null =>
  (to === move.from ? ON_STAYING[mover] : ON_ENTERING[to][mover])(move);

export type Times = Pick<TaskRow, "in_progress_at" | "last_started_at" | "done_at" | "left_done_at">;

/** The times of a task after a move; a new task enters its status from the inbox. */
export function timesAfter(
  from: TaskStatus,
  to: TaskStatus,
  { in_progress_at, last_started_at, done_at, left_done_at }: Times,
  now: Date,
): Times {
  if (from === to) return { in_progress_at, last_started_at, done_at, left_done_at };
  const cycle = from === "done" ? { done_at: null, left_done_at: now } : { done_at, left_done_at };
  switch (to) {
    case "in_progress":
      return { ...cycle, in_progress_at: from === "done" ? now : (in_progress_at ?? now), last_started_at: now };
    case "inbox":
      return { ...cycle, in_progress_at: null, last_started_at };
    case "done":
      return { ...cycle, in_progress_at, last_started_at, done_at: now };
    case "review":
    case "blocked":
      return { ...cycle, in_progress_at, last_started_at };
  }
}

export const NEW_TASK: Times = { in_progress_at: null, last_started_at: null, done_at: null, left_done_at: null };

export type BoardRules = Pick<
  BoardRow,
  | "require_approval_for_done"
  | "require_review_before_done"
  | "comment_required_for_review"
  | "block_status_changes_with_pending_approval"
  | "only_lead_can_change_status"
>;

/** What a board's rules ask of a task before it may move. */
export interface Evidence {
  /** A linked approval is pending. */
  pending: boolean;
  /** A linked approval was granted since the task last left done. */
  approved: boolean;
  /** The assignee said something since the work began, or the move comes with a comment. */
  commented: boolean;
}

interface Gate {
  flag: keyof BoardRules;
  /** Whether a move has to pass it. */
  guards: (from: TaskStatus, to: TaskStatus) => boolean;
  opens: (evidence: Evidence, from: TaskStatus) => boolean;
  error: () => DomainError;
}

const refuse = (text: string) => () => new DomainError("conflict", text, { fields: { blocked_by_task_ids: [] } });

/** In the order in which they are asked. Each stands only where the board's flag is on. */
const GATES: readonly Gate[] = [
  {
    flag: "block_status_changes_with_pending_approval",
    guards: () => true,
    opens: ({ pending }) => !pending,
    error: refuse("Task status cannot be changed while a linked approval is pending."),
  },
  {
    flag: "require_review_before_done",
    guards: (_from, to) => to === "done",
    opens: (_evidence, from) => from === "review",
    error: refuse("Task can only be marked done from review when the board rule is enabled."),
  },
  {
    flag: "require_approval_for_done",
    guards: (_from, to) => to === "done",
    opens: ({ approved }) => approved,
    error: refuse("Task can only be marked done when a linked approval has been approved."),
  },
  {
    flag: "comment_required_for_review",
    guards: (_from, to) => to === "review",
    opens: ({ commented }) => commented,
    error: () => new DomainError("invalid", "Comment is required."),
  },
];

/** Lets a move through, or says which rule of the board stops it. What stays where it is passes no gate. */
export function passGates(rules: BoardRules, from: TaskStatus, to: TaskStatus, evidence: Evidence): void {
  if (from === to) return;
  const closed = GATES.find((gate) => rules[gate.flag] && gate.guards(from, to) && !gate.opens(evidence, from));
  if (closed) throw closed.error();
}
