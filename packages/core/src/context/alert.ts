/** The kinds of alerts that people get (docs/reference/inbox.md#what-is-notified). */
export const ALERT_TYPES = [
  "approval.requested",
  "question.asked",
  "mention",
  "task.submitted",
  "task.blocked",
  "run.failed",
  "budget.warned",
  "budget.exhausted",
  "gateway.down",
  "agent.silent",
  "delivery.dead",
  "key.expires_soon",
] as const;
export type AlertType = (typeof ALERT_TYPES)[number];

/** The groups of people who are asked to decide, in the order of an escalation. */
export const DECIDER_GROUPS = ["watchers", "maker", "admins"] as const;
export type DeciderGroup = (typeof DECIDER_GROUPS)[number];

/** Something that people are notified about. It contains only ids. Everything else is read when the people are notified. */
export interface Alert {
  type: AlertType;
  organization_id: string;
  /** Null if the alert concerns the whole organization. */
  board_id: string | null;
  task_id: string | null;
  /** The id of the approval, run, budget, gateway, agent or subscription; for a mention, the id of the task or board. */
  subject_id: string;
  /** Nobody is notified twice for the same key. */
  key: string;
  actor: { type: "user" | "agent" | "system"; id: string | null };
  /** The names that a text mentions, in lower case. */
  names?: string[];
  /** The group that is notified of an approval or question. By default the first group that has members. */
  group?: DeciderGroup;
  /** Set if nobody decided in time: only groups after this one are asked, and only if the approval has not changed since. */
  escalation?: { after: DeciderGroup; pending_since: string };
}

/** An alert, and the last person who has already been notified of it. */
export type AlertPayload = Alert & { after: string | null };
