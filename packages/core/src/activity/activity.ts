import type { Context } from "../context.ts";
import { activity_events } from "./activity.sql.ts";

/** Event types in use (contract activity-metrics.md §2). Those ending in `failed` are error events. */
export type EventType =
  | "agent.connected"
  | "agent.delete.failed"
  | "agent.error"
  | "agent.heartbeat"
  | "board.group.join.notified"
  | "board.group.join.notify_failed"
  | "board.group.leave.notified"
  | "board.group.leave.notify_failed"
  | "board.lead_notified"
  | "board.lead_notify_failed"
  | "gateway.connected"
  | "gateway.disconnected"
  | "webhook.notify_failed";

export interface NewEvent {
  organization_id: string;
  message: string;
  board_id?: string | null;
  task_id?: string | null;
  agent_id?: string | null;
  user_id?: string | null;
}

/** Writes to the activity log, in the transaction of the event's cause. */
export async function recordEvent(ctx: Context, event_type: EventType, event: NewEvent): Promise<void> {
  await ctx.db.insert(activity_events).values({ event_type, ...event });
}
