import type { Alert, AlertType } from "../context/alert.ts";
import type { NewBoardEvent } from "../context/event-body.ts";

/** The subjects of alerts that are published when people are notified. Other alerts come from an event that was published before. */
const SUBJECTS = {
  "gateway.down": "gateway",
  "agent.silent": "agent",
  "delivery.dead": "subscription",
  "key.expires_soon": "key",
} as const satisfies Partial<Record<AlertType, string>>;

const isPublished = (type: AlertType): type is keyof typeof SUBJECTS => type in SUBJECTS;

/**
 * Returns the event that tells subscriptions of an alert, if they do not get another event about it. `user_ids` are the people
 * whom the alert has notified. If the alert has notified nobody, it repeats an earlier alert of the same period, and there is no
 * event.
 */
export function toAlertEvents(alert: Alert, user_ids: readonly string[], is_first_page: boolean): NewBoardEvent[] {
  const { type, organization_id, board_id, task_id, subject_id: id } = alert;
  if (user_ids.length === 0) return [];
  if (type === "mention") {
    const subject = { type: task_id !== null ? "task" : board_id !== null ? "board" : "board_group", id } as const;
    return [{ type, organization_id, board_id, subject, user_ids: [...user_ids] }];
  }
  if (!isPublished(type) || !is_first_page) return [];
  return [{ type, organization_id, board_id, subject: { type: SUBJECTS[type], id } }];
}
