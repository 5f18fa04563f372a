import { insertEvents, recordLateEvent } from "../activity/activity.ts";
import { hostLane } from "../values/session-key.ts";
import { type Context, isInTransaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import type { JobHandler } from "../job/handler.ts";
import { findUsableGateway } from "../gateway/target.ts";
import { insertInboxMessages, type NewInboxMessage, storeUndelivered } from "./inbox-message.ts";
import { messageKind } from "./message-kind.ts";
import { insertJobs, type NewJob } from "../job/job.ts";
import type { JobEvent, NotificationPayload } from "../job/kinds.ts";
import type { SendToSession } from "../context/session-message.ts";
import type { ChatContent } from "../values/chat-content.ts";
import type { Recipient } from "./recipient.ts";

export type AgentNotification = ChatContent & {
  /** Whether the agent may reply on its own channel; false by default. */
  deliver?: boolean;
  sent?: JobEvent;
  failed?: JobEvent;
  /** The task that the notification is about. */
  task_id?: string;
};

/** Notifies an agent. Call it in the transaction of the change. Does nothing if the agent has a host but no session. */
export const notify = (ctx: Context, recipient: NotificationRecipient, notification: AgentNotification): Promise<void> =>
  notifyAll(ctx, toNotifications(recipient, notification));

/** Stores several notifications with one statement. Call it in the transaction of the change. */
export async function notifyAll(ctx: Context, notifications: readonly Notification[]): Promise<void> {
  if (!isInTransaction(ctx)) throw new Error("notifyAll outside a transaction");
  const writes = insertNotifications(ctx, notifications);
  if (writes.length > 0) await runBatch(ctx, writes);
}

/** The main agent of a gateway. Its session key follows from the gateway's id, so it can be notified without reading its row. */
type SessionRecipient = Pick<Recipient, "name" | "gateway_id" | "organization_id" | "openclaw_session_id"> & {
  gateway_kind: "openclaw";
};
type NotificationRecipient = Recipient | SessionRecipient;

/** A message to a pull agent, and the event that records it. */
interface InboxNotification {
  kind: "inbox";
  message: NewInboxMessage;
  sent?: JobEvent | undefined;
}

/** What is stored to notify an agent. For a comment that names people, this may also be the job that notifies these people. */
export type Notification = InboxNotification | NewJob<"notice"> | NewJob<"people.tell">;

/**
 * Returns the notification of an agent: a job for its session, or an inbox message for a pull agent. The list is empty if the agent
 * has a host but no session. No other function chooses between session and inbox.
 */
export function toNotifications(recipient: NotificationRecipient, notification: AgentNotification): Notification[] {
  const { deliver = false, sent, failed, task_id } = notification;
  const content = toContent(notification);
  if (recipient.gateway_kind === "pull") {
    const { organization_id, board_id, agent_id } = recipient;
    const text = content.command ?? content.message;
    const message = { organization_id, board_id, agent_id, kind: messageKind(content), text, task_id: task_id ?? null };
    return [{ kind: "inbox", message, sent }];
  }
  const { gateway_id, organization_id, name, openclaw_session_id } = recipient;
  if (!openclaw_session_id) return [];
  const payload: NotificationPayload = {
    gateway_id,
    session_key: openclaw_session_id,
    label: name,
    ...content,
    deliver,
    ...(sent ? { sent } : {}),
    ...(failed ? { failed } : {}),
    ...(task_id ? { task_id } : {}),
  };
  return [{ kind: "notice", payload, options: { organization_id, gateway_id, lane: hostLane(gateway_id, openclaw_session_id) } }];
}

/** Keeps exactly one of the two fields, because the stored job may have only one. */
const toContent = ({ command, message }: ChatContent): ChatContent => (command ? { command } : { message: message ?? "" });

/**
 * Builds the inserts of notifications, for `runBatch`. Each lane and each inbox keeps the order of the list. An inbox message
 * counts as delivered once it is stored, so its event is stored in the same batch.
 */
export function insertNotifications(ctx: Context, notifications: readonly Notification[]) {
  const jobs = notifications.filter((one) => one.kind !== "inbox");
  const received = notifications.filter((one) => one.kind === "inbox");
  const events = received.flatMap(({ sent }) => sent ?? []);
  const messages = received.map(({ message }) => message);
  return [
    ...(jobs.length > 0 ? [insertJobs(ctx, jobs)] : []),
    ...(messages.length > 0 ? [insertInboxMessages(messages)] : []),
    ...(events.length > 0 ? [insertEvents(events)] : []),
  ];
}

/**
 * Sends a notification to its session. The job's id is the idempotency key, so a retry does not send the message twice. The job
 * does nothing if the gateway was removed.
 */
export const sendNotification = (sendToSession: SendToSession): JobHandler<"notice"> => ({
  async run(ctx, notification, { id }) {
    const gateway = await findUsableGateway(ctx, notification.gateway_id);
    if (!gateway) return;
    const { session_key, label, deliver, sent } = notification;
    const fields = { session_key, label, deliver, idempotency_key: `notice-${id}` };
    await sendToSession(ctx, gateway, { ...fields, ...toContent(notification) });
    if (sent) return (ctx) => recordNotificationEvent(ctx, sent);
  },
  async onDead(ctx, notification) {
    const { gateway_id, session_key, task_id = null, failed } = notification;
    const content = toContent(notification);
    const text = content.command ?? content.message;
    await storeUndelivered(ctx, { gateway_id, session_key, kind: messageKind(content), text, task_id });
    if (failed) await recordNotificationEvent(ctx, failed);
  },
});

const recordNotificationEvent = (ctx: Context, { event_type, ...event }: JobEvent) => recordLateEvent(ctx, event_type, event);
