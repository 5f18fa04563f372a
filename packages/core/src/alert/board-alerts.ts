import type { Alert, AlertType } from "../context/alert.ts";
import type { BoardEvent } from "../context/event-body.ts";
import type { NewJob } from "../job/job.ts";
import { toAlertJob } from "./alert-job.ts";

/**
 * Returns the jobs that notify people of events on boards. The statement that stores the events inserts these jobs. All other
 * alerts come from `storeAlerts` and `mentionJobs`.
 */
export const toBoardAlertJobs = (events: readonly BoardEvent[]): NewJob<"people.tell">[] =>
  events.flatMap((event) => {
    const alert = toAlert(event);
    return alert ? [toAlertJob(alert)] : [];
  });

const STATUS_ALERTS: Readonly<Record<string, AlertType>> = { review: "task.submitted", blocked: "task.blocked" };

function toAlert(event: BoardEvent): Alert | null {
  const { id, organization_id, board_id, actor, subject } = event;
  const of = (type: AlertType, task_id: string | null, key = id): Alert => ({
    type,
    organization_id,
    board_id,
    task_id,
    subject_id: subject.id,
    key: `${type}:${key}`,
    actor,
  });
  switch (event.type) {
    case "approval.requested":
      return of("approval.requested", event.task_ids[0] ?? null);
    case "task.updated": {
      const type = event.changed_fields.includes("status") ? STATUS_ALERTS[event.status] : undefined;
      return type ? of(type, subject.id) : null;
    }
    case "run.expired":
    case "run.stopped":
      return of("run.failed", event.task_id);
    case "budget.warned":
    case "budget.exhausted":
      return of(event.type, null);
    default:
      return null;
  }
}
