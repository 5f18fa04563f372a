import { recordLateEvent } from "../activity/activity.ts";
import { hostLane } from "../session-key.ts";
import type { Context } from "../context.ts";
import type { JobHandler } from "../job/handler.ts";
import { findUsableGateway, sendToSession } from "../gateway/send.ts";
import { enqueue, insertJobs, type NewJob } from "../job/job.ts";
import type { JobEvent, NotificationPayload } from "../job/kinds.ts";
import type { ChatContent } from "../openclaw/chat-text.ts";
import type { Recipient } from "./recipient.ts";

export type AgentNotification = ChatContent & {
  /** Whether the agent may reply on its own channel; false by default. */
  deliver?: boolean;
  sent?: JobEvent;
  failed?: JobEvent;
};

/** Enqueues a notification of an agent in the caller's transaction. Agents without a session are skipped. */
export async function notify(ctx: Context, recipient: NotificationRecipient, notification: AgentNotification): Promise<void> {
  for (const { kind, payload, options } of toNotificationJobs(recipient, notification))
    await enqueue(ctx, kind, payload, options);
}

type NotificationRecipient = Omit<Recipient, "agent_id">;

/** The job of a notification, for `insertNotifications`; an empty list for an agent without a session. */
export function toNotificationJobs(
  { gateway_id, organization_id, name, openclaw_session_id }: NotificationRecipient,
  notification: AgentNotification,
) {
  if (!openclaw_session_id) return [];
  const { deliver = false, sent, failed } = notification;
  const payload: NotificationPayload = {
    gateway_id,
    session_key: openclaw_session_id,
    label: name,
    ...toContent(notification),
    deliver,
    ...(sent ? { sent } : {}),
    ...(failed ? { failed } : {}),
  };
  const options = { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) };
  return [{ kind: "notice", payload, options } satisfies NewJob];
}

/** Exactly one of the two, also in the stored job. */
const toContent = ({ command, message }: ChatContent): ChatContent => (command ? { command } : { message: message ?? "" });

export type NotificationJob = ReturnType<typeof toNotificationJobs>[number];

/** The insert of notification jobs, for `runBatch`: one statement, or none for an empty list. Each lane keeps this order. */
export const insertNotifications = (ctx: Context, notification_jobs: readonly NotificationJob[]) =>
  notification_jobs.length > 0 ? [insertJobs(ctx, notification_jobs)] : [];

/** Sends the text. The job's id is the idempotency key, so a retry sends no second message. Does nothing without a gateway. */
export const sendNotification: JobHandler<"notice"> = {
  async run(ctx, notification, { id }) {
    const gateway = await findUsableGateway(ctx, notification.gateway_id);
    if (!gateway) return;
    const { session_key, label, deliver, sent } = notification;
    const fields = { session_key, label, deliver, idempotency_key: `notice-${id}` };
    await sendToSession(ctx, gateway, { ...fields, ...toContent(notification) });
    if (sent) return (ctx) => recordNotificationEvent(ctx, sent);
  },
  async onDead(ctx, { failed }) {
    if (failed) await recordNotificationEvent(ctx, failed);
  },
};

const recordNotificationEvent = (ctx: Context, { event_type, ...event }: JobEvent) => recordLateEvent(ctx, event_type, event);
