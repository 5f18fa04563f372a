import type { Alert } from "../context/alert.ts";
import type { Context } from "../context/context.ts";
import { runWrite } from "../db/prepared-write.ts";
import { insertJobs, type NewJob } from "../job/job.ts";

/**
 * Returns the lane of an organization's alerts. The jobs of the lane run one after the other, so that an organization with many
 * people occupies only one worker.
 */
const laneOf = (organization_id: string) => `alerts:${organization_id}`;

/**
 * Returns the job that notifies people of an alert. The job is stored together with the change, and finds the recipients when it
 * runs.
 */
export const toAlertJob = (alert: Alert): NewJob<"people.tell"> => ({
  kind: "people.tell",
  payload: { ...alert, after: null },
  options: { organization_id: alert.organization_id, lane: laneOf(alert.organization_id) },
});

/** Returns the job that continues with the recipients after `after`, the last person who was notified. */
export const toNextAlertJob = (alert: Alert, after: string): NewJob<"people.tell"> => ({
  ...toAlertJob(alert),
  payload: { ...alert, after },
});

/**
 * Returns the job that asks the next group of people if nobody has decided in time. The job has no lane, because it would block
 * the organization's other alerts while it waits. It keeps the key of the alert, so that nobody is asked twice.
 */
export function toEscalationJob(alert: Alert, escalation: Required<Alert>["escalation"], run_at: Date): NewJob<"people.tell"> {
  const { group: _, ...rest } = alert;
  const { organization_id } = alert;
  return { kind: "people.tell", payload: { ...rest, escalation, after: null }, options: { organization_id, run_at } };
}

/** Stores the jobs of alerts, in the caller's transaction if there is one. */
export async function storeAlerts(ctx: Context, alerts: readonly Alert[]): Promise<void> {
  if (alerts.length > 0) await runWrite(ctx, insertJobs(ctx, alerts.map(toAlertJob)));
}

/** Returns a key that limits notifications of the same type about the same subject to one a day. */
export const dailyKey = ({ now }: Pick<Context, "now">, type: Alert["type"], subject_id: string): string =>
  `${type}:${subject_id}:${now().toISOString().slice(0, 10)}`;
