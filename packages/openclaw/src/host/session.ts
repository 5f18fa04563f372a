import type { ChatFields, SessionChat, SessionMessage } from "@board/core/context/session-message";
import type { ChatContent } from "@board/core/values/chat-content";
import { toChatText } from "../wire/chat-text.ts";
import type { Gateways, GatewayTarget } from "@board/core/context/gateways";
import { asRecord } from "../wire/frame.ts";
import { GatewayError } from "../wire/gateway-error.ts";

/** Longest session label that hosts accept, in characters. */
const LABEL_LIMIT = 64;

/** A message whose idempotency key is yet to be chosen. */
export type UnkeyedMessage = Omit<ChatFields, "idempotency_key"> & ChatContent & { label: string | null };

/** Creates the session if it does not exist, then sends one message to it. Rejects with a GatewayError. */
export async function sendMessage(gateways: Gateways, target: GatewayTarget, message: SessionMessage): Promise<void> {
  await ensureSession(gateways, target, message.session_key, message.label);
  await sendChat(gateways, target, message);
}

/** Sends one message to a session. Only this function calls chat.send, so that every text passes through `toChatText`. */
export async function sendChat(gateways: Gateways, target: GatewayTarget, chat: SessionChat): Promise<void> {
  await gateways.request(target, "chat.send", {
    sessionKey: chat.session_key,
    message: toChatText(chat),
    deliver: chat.deliver,
    idempotencyKey: chat.idempotency_key,
  });
}

/** Creates the session if it does not exist and labels it, unless the label is in use. Returns the host's payload. */
export async function ensureSession(
  gateways: Gateways,
  target: GatewayTarget,
  key: string,
  label: string | null,
): Promise<unknown> {
  const truncated = label === null ? "" : truncateLabel(label);
  if (truncated === "") return await gateways.request(target, "sessions.patch", { key });
  try {
    return await gateways.request(target, "sessions.patch", { key, label: truncated });
  } catch (error) {
    if (!(error instanceof GatewayError) || !/label already in use/i.test(error.message)) throw error;
    return await gateways.request(target, "sessions.patch", { key });
  }
}

/** Cuts the label without leaving half of a surrogate pair. */
function truncateLabel(label: string): string {
  return label
    .trim()
    .slice(0, LABEL_LIMIT)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** A session as a host reports it. Only the key is always present. */
export interface HostSession {
  key: string;
  [field: string]: unknown;
}

/** Values from hosts are passed on only to this depth, because JSON.parse accepts deeper nesting than JSON.stringify. */
const MAX_DEPTH = 32;

/** Replaces everything below the maximum depth by null. */
export function limitDepth(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((item) => limitDepth(item, depth - 1));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, limitDepth(item, depth - 1)]));
}

/** Parses the response to sessions.list: `{sessions}` or an array. Entries without a key are ignored. */
export function toHostSessions(payload: unknown): HostSession[] {
  const listed = Array.isArray(payload) ? payload : asRecord(payload)?.sessions;
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((entry) => {
    const key = asRecord(entry)?.key;
    return typeof key === "string" && key !== "" ? [{ ...asRecord(limitDepth(entry)), key }] : [];
  });
}

/** Parses the response to sessions.patch: the session itself, or an object with it as `entry`. */
export function toPatchedSession(payload: unknown, key: string): HostSession {
  const response = asRecord(payload);
  return { ...asRecord(limitDepth(asRecord(response?.entry) ?? response)), key };
}
