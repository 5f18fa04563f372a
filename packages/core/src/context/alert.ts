/** What people are notified (docs/reference/inbox.md#what-is-notified). */
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

/** Who is asked to decide, in the order of an escalation. */
export const DECIDER_GROUPS = ["watchers", "maker", "admins"] as const;
export type DeciderGroup = (typeof DECIDER_GROUPS)[number];

/** Something that people are notified. It has ids only: everything else is read when they are notified. */
export interface Alert {
  type: AlertType;
  organization_id: string;
  /** Null for what concerns the whole organization. */
  board_id: string | null;
  task_id: string | null;
  /** The approval, run, budget, gateway, agent or subscription; the task or board of a mention. */
  subject_id: string;
  /** Nobody is notified twice about alerts with the same key. */
  key: string;
  actor: { type: "user" | "agent" | "system"; id: string | null };
  /** The names that a text mentions, in lower case. */
  names?: string[];
  /** The group that is notified of an approval or question. Without it, the first one with members. */
  group?: DeciderGroup;
  /** Set when nobody decided in time: only groups after this one are asked, if the approval has not changed since. */
  escalation?: { after: DeciderGroup; pending_since: string };
}

/** An alert, and the last person of those who were notified already. */
export type AlertPayload = Alert & { after: string | null };
