import type { gateways } from "../schema/gateway.sql.ts";
import type { ChatContent } from "../values/chat-content.ts";
import type { System } from "./actor.ts";
import type { Context } from "./context.ts";

export interface ChatFields {
  session_key: string;
  /** True if the host may deliver the agent's reply to the agent's own channel. */
  deliver: boolean;
  /** Derived from the cause of the message, so that a retry does not create a second message. */
  idempotency_key: string;
}

/** What is sent to an existing session. */
export type SessionChat = ChatFields & ChatContent;

/** What is sent to a session that may have to be created. The label is the name in the host's list; usually the agent's. */
export type SessionMessage = SessionChat & { label: string | null };

/**
 * The port through which jobs send a message to a session on the host of a gateway, which the package of that kind of host
 * implements. It rejects with an error of the host when the message was not taken.
 */
export type SendToSession = (
  ctx: Context<System>,
  gateway: typeof gateways.$inferSelect,
  message: SessionMessage,
) => Promise<void>;
