import { recordLateEvent } from "@board/core/activity/activity";
import type { EventFields, EventType } from "@board/core/activity/event-type";
import type { Context } from "@board/core/context/context";
import { sendOnHost, toUnavailable, withInteractiveHost } from "../gateway/interactive-call.ts";
import type { GatewayRow } from "@board/core/gateway/target";
import type { UnkeyedMessage } from "../host/session.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import { catchGatewayError } from "../wire/gateway-error.ts";

/** How the outcome of a message is recorded and reported. */
interface DispatchReport {
  sent: EventType;
  failed: EventType;
  /** What was sent, such as "Nudge to Ann". */
  subject: string;
  event: Omit<EventFields, "message">;
  /** Beginning of the error text that the caller gets. */
  prefix: string;
}

/** Sends one message and records the outcome. Throws `unavailable` when the host did not accept the message. */
export async function dispatch(
  ctx: Context,
  gateway: GatewayRow,
  message: UnkeyedMessage,
  { sent, failed, subject, event, prefix }: DispatchReport,
): Promise<void> {
  const failure = await catchGatewayError(() => withInteractiveHost(ctx, gateway, (host) => sendOnHost(ctx, host, message)));
  if (!failure) return recordLateEvent(ctx, sent, { ...event, message: `${subject} sent.` });
  await recordLateEvent(ctx, failed, { ...event, message: `${subject} failed: ${toGatewayMessage(failure)}` });
  throw toUnavailable(prefix, failure);
}
