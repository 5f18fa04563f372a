import type { Actor } from "../context/actor.ts";
import type { Alert } from "../context/alert.ts";
import type { Context } from "../context/context.ts";
import { runWrite } from "../db/prepared-write.ts";
import { insertJobs, type NewJob } from "../job/job.ts";

/** Alerts of an organization are notified one after the other, so that a large one takes one worker at most. */
const laneOf = (organization_id: string) => `alerts:${organization_id}`;

/** The job that tells people of something. It is stored with the change, and finds the people when it runs. */
export const toAlertJob = (alert: Alert): NewJob<"people.tell"> => ({
  kind: "people.tell",
  payload: { ...alert, after: null },
  options: { organization_id: alert.organization_id, lane: laneOf(alert.organization_id) },
});

/** The job that continues after the last person who was notified. */
export const toNextAlertJob = (alert: Alert, after: string): NewJob<"people.tell"> => ({
  ...toAlertJob(alert),
  payload: { ...alert, after },
});

/**
 * The job that asks the next group if nobody has decided until then. It has no lane, in which it would hold up the alerts of the
 * organization. The key stays, so that nobody is asked twice.
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

export function toAlertActor(actor: Actor): Alert["actor"] {
  if (actor.type === "user") return { type: "user", id: actor.user_id };
  if (actor.type === "agent") return { type: "agent", id: actor.agent_id };
  return { type: "system", id: null };
}

/** A key with which people are notified of the same thing once a day. */
export const dailyKey = ({ now }: Pick<Context, "now">, type: Alert["type"], subject_id: string): string =>
  `${type}:${subject_id}:${now().toISOString().slice(0, 10)}`;
