import type { Gateways, GatewayTarget } from "./client.ts";
import { GatewayError } from "./client.ts";

/** Longest session label hosts accept. */
const LABEL_LIMIT = 64;

export interface SessionMessage {
  session_key: string;
  /** Shown in the host's session list; usually the agent's name. */
  label: string | null;
  message: string;
  /** True lets the reply leave on the agent's own channel. */
  deliver: boolean;
  /** Derived from the cause of the message, so that a repeat is no second message. */
  idempotency_key: string;
}

/** Makes sure the session exists, then sends one message into it. Rejects with a GatewayError. */
export async function sendMessage(gateways: Gateways, target: GatewayTarget, message: SessionMessage): Promise<void> {
  await ensureSession(gateways, target, message.session_key, message.label);
  await gateways.request(target, "chat.send", {
    sessionKey: message.session_key,
    message: message.message,
    deliver: message.deliver,
    idempotencyKey: message.idempotency_key,
  });
}

/** Creates the session when absent and labels it; returns the host's payload. A label some other session holds is left out. */
export async function ensureSession(
  gateways: Gateways,
  target: GatewayTarget,
  key: string,
  label: string | null,
): Promise<unknown> {
  const short = label === null ? "" : cutLabel(label);
  if (short === "") return await gateways.request(target, "sessions.patch", { key });
  try {
    return await gateways.request(target, "sessions.patch", { key, label: short });
  } catch (error) {
    if (!(error instanceof GatewayError) || !/label already in use/i.test(error.message)) throw error;
    return await gateways.request(target, "sessions.patch", { key });
  }
}

/** Cut without leaving half of a surrogate pair. */
function cutLabel(label: string): string {
  return label
    .trim()
    .slice(0, LABEL_LIMIT)
    .replace(/[\uD800-\uDBFF]$/, "");
}
