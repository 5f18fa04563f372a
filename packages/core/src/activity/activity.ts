import { sql } from "drizzle-orm";
import { agents } from "../agent/agent.sql.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { organizations, users } from "../organization/organization.sql.ts";
import { tasks } from "../task/task.sql.ts";
import { activity_events } from "./activity.sql.ts";

/** Event types in use (contract activity-metrics.md §2). Those ending in `failed` are error events. */
export type EventType =
  | "agent.connected"
  | "agent.delete.direct"
  | "agent.delete.failed"
  | "agent.disconnected"
  | "agent.error"
  | "agent.heartbeat"
  | "agent.nudge.failed"
  | "agent.nudge.sent"
  | "agent.provision.direct"
  | "agent.provision.failed"
  | "agent.provisioned"
  | "agent.soul.updated"
  | "agent.update.direct"
  | "agent.update.failed"
  | "agent.wakeup.sent"
  | "approval.created"
  | "approval.lead_notified"
  | "approval.lead_notify_failed"
  | "approval.requested"
  | "approval.resolved"
  | "approval.reviewed"
  | "board.group.join.notified"
  | "board.group.join.notify_failed"
  | "board.group.leave.notified"
  | "board.group.leave.notify_failed"
  | "board.lead_notified"
  | "board.lead_notify_failed"
  | "gateway.connected"
  | "gateway.disconnected"
  | "gateway.lead.ask_user.failed"
  | "gateway.lead.ask_user.sent"
  | "gateway.main.lead_broadcast.sent"
  | "gateway.main.lead_message.failed"
  | "gateway.main.lead_message.sent"
  | "task.assigned"
  | "task.assignee_notified"
  | "task.assignee_notify_failed"
  | "task.assignee_wake_failed"
  | "task.assignee_woken"
  | "task.comment"
  | "task.created"
  | "task.deleted"
  | "task.lead_notified"
  | "task.lead_notify_failed"
  | "task.lead_unassigned_notified"
  | "task.lead_unassigned_notify_failed"
  | "task.priority_changed"
  | "task.rework_notified"
  | "task.rework_notify_failed"
  | "task.status_changed"
  | "task.updated"
  | "webhook.notify_failed";

export interface NewEvent {
  organization_id: string;
  message: string;
  board_id?: string | null;
  task_id?: string | null;
  agent_id?: string | null;
  user_id?: string | null;
  /** Of a comment only. */
  tags?: string[] | null;
}
export type TypedEvent = NewEvent & { event_type: EventType };
export type EventRow = typeof activity_events.$inferSelect;

/** Writes to the activity log, in the transaction of the event's cause. */
export async function recordEvent(ctx: Context, event_type: EventType, event: NewEvent): Promise<EventRow> {
  const [row] = await newEvents(ctx, [{ event_type, ...event }]).returning();
  return row!;
}

/** The insert of one or more events, for `writeTogether`. Streams show them in this order. */
export const newEvents = (ctx: Context, events: readonly TypedEvent[]) => ctx.db.insert(activity_events).values([...events]);

/**
 * Writes what a job tells when it ends: by then anything may be gone. The event of a removed board or organization is
 * not kept, a removed task, agent or user is left out of it.
 */
export async function recordLateEvent(ctx: Context, event_type: EventType, event: NewEvent): Promise<void> {
  const { organization_id, message, board_id = null, task_id = null, agent_id = null, user_id = null } = event;
  await ctx.db.execute(sql`
    insert into ${activity_events} (event_type, organization_id, message, board_id, task_id, agent_id, user_id)
    select ${event_type}, home.id, ${message}, ${board_id}::uuid,
      (select id from ${tasks} where id = ${task_id}::uuid),
      (select id from ${agents} where id = ${agent_id}::uuid),
      (select id from ${users} where id = ${user_id}::uuid)
    from ${organizations} as home
    where home.id = ${organization_id}
      and (${board_id}::uuid is null or exists (select 1 from ${boards} where id = ${board_id}::uuid))`);
}
