import { and, eq, sql } from "drizzle-orm";
import { toEscalationJob, toNextAlertJob } from "../alert/alert-job.ts";
import { type Alert, type AlertPayload, DECIDER_GROUPS, type DeciderGroup } from "../context/alert.ts";
import { isQuestion } from "../approval/question.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import type { JobHandler } from "../job/handler.ts";
import { enqueueAll } from "../job/job.ts";
import { approvals } from "../schema/approval.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { organizations, users } from "../schema/organization.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { user_notifications } from "../schema/people.sql.ts";
import { addMs, MINUTE_MS } from "../values/time.ts";
import { storeBoardEvents } from "../subscription/board-event.ts";
import { toAlertEvents } from "./alert-event.ts";
import { readAudience, isDecision, PAGE } from "./audience.ts";

/**
 * Stores an alert in the inboxes of the people whom it concerns, and sends it to subscriptions. Each job notifies at most one page
 * of these people and enqueues the next job, so that a board with thousands of followers does not delay other work.
 */
export const tellPeople = (schedule: ScheduleDeliveries): JobHandler<"people.tell"> => ({
  async run(ctx, payload) {
    const current = await readAlert(ctx, payload);
    if (!current) return;
    const { alert, escalation } = current;
    const { user_ids, group } = await readAudience(ctx, alert, payload.after);
    if (user_ids.length === 0) return;
    const rest: Alert = group === null ? alert : { ...alert, group };
    return async (ctx) => {
      const stored = await storeNotifications(ctx, alert, user_ids);
      await schedule(ctx, alert, stored);
      const notified = stored.map(({ user_id }) => user_id);
      const events = toAlertEvents(alert, notified, payload.after === null);
      await enqueueAll(ctx, [
        ...(await storeBoardEvents(ctx, events, alert.actor)),
        ...(user_ids.length === PAGE ? [toNextAlertJob(rest, user_ids.at(-1)!)] : []),
        ...(payload.after === null && group !== null ? escalationJobs(ctx, alert, group, escalation) : []),
      ]);
    };
  },
});

/** Schedules deliveries of new notifications outside the console, in the transaction that stores the notifications. */
type ScheduleDeliveries = (ctx: Context, alert: Alert, stored: readonly Stored[]) => Promise<void>;

interface Escalation {
  /** When the next group is asked if nobody has decided; null if the board asks no further group. */
  after_minutes: number | null;
  /** When the approval last changed. A later job compares this time, to detect that the approval was decided and reopened. */
  pending_since: string;
}

interface CurrentAlert {
  alert: Alert;
  /** Null for an alert that does not ask for a decision. */
  escalation: Escalation | null;
}

/** Returns the current alert, or null if an approval was decided in the meantime. A question is stored as an approval. */
async function readAlert(ctx: Context, { after: _, ...alert }: AlertPayload): Promise<CurrentAlert | null> {
  if (!isDecision(alert)) return { alert, escalation: null };
  const [approval] = await ctx.db
    .select({
      action_type: approvals.action_type,
      status: approvals.status,
      updated_at: approvals.updated_at,
      after_minutes: boards.escalate_after_minutes,
    })
    .from(approvals)
    .innerJoin(boards, eq(boards.id, approvals.board_id))
    .where(and(eq(approvals.id, alert.subject_id), eq(approvals.board_id, alert.board_id!)));
  if (approval?.status !== "pending") return null;
  const { after_minutes, updated_at } = approval;
  const escalation = { after_minutes, pending_since: updated_at.toISOString() };
  if (alert.escalation && !isStillDue(alert.escalation, escalation)) return null;
  return { alert: { ...alert, type: isQuestion(approval) ? "question.asked" : "approval.requested" }, escalation };
}

/**
 * Returns false if the board's setting was switched off, or if the approval was decided and reopened. Reopening has started a later
 * job.
 */
const isStillDue = (expected: Required<Alert>["escalation"], { after_minutes, pending_since }: Escalation): boolean =>
  after_minutes !== null && expected.pending_since === pending_since;

/** Returns the job that asks the next group if this group does not decide in time. */
function escalationJobs(ctx: Context, alert: Alert, group: DeciderGroup, escalation: Escalation | null) {
  if (!escalation?.after_minutes || group === DECIDER_GROUPS.at(-1)) return [];
  const { after_minutes, pending_since } = escalation;
  return [toEscalationJob(alert, { after: group, pending_since }, addMs(ctx.now(), after_minutes * MINUTE_MS))];
}

interface Stored {
  id: string;
  user_id: string;
}

/** Stores a notification for each person who has none with the same key. Removed people, boards and tasks are skipped. */
async function storeNotifications(ctx: Context, alert: Alert, user_ids: readonly string[]): Promise<Stored[]> {
  const { type, organization_id, board_id, task_id, subject_id, key, actor } = alert;
  const found = (table: typeof boards | typeof tasks | typeof organizations, id: string) =>
    sql`exists (select 1 from ${table} where id = ${id} for key share)`;
  const result = await ctx.db.execute(sql`
    with person as materialized (select id from ${users} where id = any(${sql.param([...user_ids])}::uuid[]) order by id for key share)
    insert into ${user_notifications} (created_at, user_id, organization_id, board_id, task_id, type, subject_id, actor_type, actor_id, key)
    select ${ctx.now().toISOString()}::timestamptz, person.id, ${organization_id}, ${board_id}::uuid, ${task_id}::uuid, ${type},
      ${subject_id}, ${actor.type}, ${actor.id}::uuid, ${key}
    from person where ${found(organizations, organization_id)} and ${board_id === null ? sql`true` : found(boards, board_id)}
      and ${task_id === null ? sql`true` : found(tasks, task_id)}
    on conflict (user_id, key) do nothing
    returning id, user_id`);
  return rowsOf<Stored>(result);
}
