import type { AlertType } from "../context/alert.ts";
import { ellipsize } from "../values/text.ts";
import { oneLine } from "../values/wire.ts";

export interface AskedApproval {
  action_type: string;
  reason: string | null;
  title: string | null;
  status: string;
  /** The options of a question, as its agent wrote them; null for other approvals. */
  offer: Record<string, unknown> | null;
}

/**
 * What a notification is about, in its current state. Names and texts were written by other people or agents, and are null if
 * they no longer exist.
 */
export interface NotificationFacts {
  type: AlertType;
  board_name: string | null;
  task_title: string | null;
  actor_name: string | null;
  /** The name of the agent, gateway or key, or the host name of the subscription's receiver. */
  subject_name: string | null;
  /** The action or question to decide. */
  approval: AskedApproval | null;
  /** The latest comment on the task by the person or agent who caused the notification. */
  comment: string | null;
}

const MAX_TITLE = 120;
const MAX_TEXT = 1_000;
const short = (text: string | null, other: string) => ellipsize(oneLine(text ?? other), MAX_TITLE);

const onBoard = (name: string | null) => (name === null ? "" : ` on ${ellipsize(oneLine(name), MAX_TITLE)}`);

type Titles = Readonly<Record<AlertType, (facts: NotificationFacts) => string>>;

const TITLES: Titles = {
  "approval.requested": ({ actor_name, approval }) =>
    `${short(actor_name, "Somebody")} asks for approval: ${short(approval?.title ?? approval?.action_type ?? null, "a request")}`,
  "question.asked": ({ actor_name, approval }) =>
    `${short(actor_name, "Somebody")} asks: ${short(approval?.reason ?? null, "a question")}`,
  mention: ({ actor_name, task_title, board_name }) =>
    `${short(actor_name, "Somebody")} mentions you ${task_title ? `on ${short(task_title, "a task")}` : `in the chat or memory of ${short(board_name, "a group")}`}`,
  "task.submitted": ({ task_title }) => `Ready for review: ${short(task_title, "a task")}`,
  "task.blocked": ({ task_title }) => `Blocked: ${short(task_title, "a task")}`,
  "run.failed": ({ task_title }) => `A run ended without a result: ${short(task_title, "a task")}`,
  "budget.warned": ({ board_name }) => `A budget is almost spent${onBoard(board_name)}`,
  "budget.exhausted": ({ board_name }) => `A budget is spent${onBoard(board_name)}`,
  "gateway.down": ({ subject_name }) => `Gateway is not connected: ${short(subject_name, "a removed one")}`,
  "agent.silent": ({ subject_name }) => `Agent is silent: ${short(subject_name, "a removed one")}`,
  "key.expires_soon": ({ subject_name }) => `A key ends soon: ${short(subject_name, "a removed one")}`,
  "delivery.dead": ({ subject_name }) => `Events could not be delivered to ${short(subject_name, "a removed subscription")}`,
};

/** Returns one line that says what has happened. */
export const toTitle = (facts: NotificationFacts): string => TITLES[facts.type](facts);

/**
 * Returns the text of another person or agent that belongs to the notification, which may have several lines. Returns null if there
 * is none.
 */
export function toText({ type, approval, comment }: NotificationFacts): string | null {
  const text = type === "mention" ? comment : (approval?.reason ?? null);
  return text === null || text.trim() === "" ? null : ellipsize(text.trim(), MAX_TEXT);
}
