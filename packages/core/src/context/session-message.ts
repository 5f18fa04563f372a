import type { gateways } from "../schema/gateway.sql.ts";
import type { ChatContent } from "../values/chat-content.ts";
import type { System } from "./actor.ts";
import type { Context } from "./context.ts";

export interface ChatFields {
  session_key: string;
  /** Whether the host may deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
  /** The key is derived from the cause of the message, so that a retry does not send the message twice. */
  idempotency_key: string;
}

/** A message to an existing session. */
export type SessionChat = ChatFields & ChatContent;

/** A message to a session that may have to be created. The label is its name in the host's list, usually the agent's name. */
export type SessionMessage = SessionChat & { label: string | null };

/**
 * The interface through which jobs send a message to a session on the host of a gateway. The package for each kind of host
 * implements it. It rejects with the host's error if the host did not accept the message.
 */
export type SendToSession = (
  ctx: Context<System>,
  gateway: typeof gateways.$inferSelect,
  message: SessionMessage,
) => Promise<void>;
