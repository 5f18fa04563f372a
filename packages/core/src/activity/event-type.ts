import type { CommentAnchor } from "../schema/activity.sql.ts";

/** All event types (docs/reference/activity.md#event-types). Types that end in `failed` are error events. */
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
  | "agent.token.rotated"
  | "agent.update.direct"
  | "agent.update.failed"
  | "agent.wakeup.sent"
  | "approval.created"
  | "approval.lead_notified"
  | "approval.lead_notify_failed"
  | "approval.requested"
  | "approval.resolved"
  | "approval.reviewed"
  | "artifact.added"
  | "artifact.removed"
  | "board.group.join.notified"
  | "board.group.join.notify_failed"
  | "board.group.leave.notified"
  | "board.group.leave.notify_failed"
  | "board.lead_notified"
  | "board.lead_notify_failed"
  | "budget.created"
  | "budget.exhausted"
  | "budget.removed"
  | "budget.updated"
  | "budget.warned"
  | "gateway.connected"
  | "gateway.disconnected"
  | "gateway.lead.ask_user.failed"
  | "gateway.lead.ask_user.sent"
  | "gateway.main.lead_broadcast.sent"
  | "gateway.main.lead_message.failed"
  | "gateway.main.lead_message.sent"
  | "key.expires_soon"
  | "member.role_changed"
  | "run.expired"
  | "run.stopped"
  | "subscription.disabled"
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
  | "task.lease_expired"
  | "task.priority_changed"
  | "task.rework_notified"
  | "task.rework_notify_failed"
  | "task.status_changed"
  | "task.updated"
  | "webhook.notify_failed";

export interface EventFields {
  organization_id: string;
  message: string;
  board_id?: string | null;
  task_id?: string | null;
  agent_id?: string | null;
  user_id?: string | null;
  /** Null for all events except comments. */
  tags?: string[] | null;
  /** Only comments have an anchor. */
  anchor?: CommentAnchor | null;
}

export type NewActivityEvent = EventFields & { event_type: EventType };
