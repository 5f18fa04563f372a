import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { notFound } from "@board/core/values/errors";
import { truncatable } from "@board/core/lists/large-fields";
import { MAX_TEXT, NonEmpty, QueryInteger, lazyObject } from "@board/core/values/wire";
import { asRecord } from "../wire/frame.ts";
import { type ResolvedHost, resolveTarget, TargetQuery } from "./resolve-target.ts";
import { ensureSession, type HostSession, limitDepth, sendChat, toHostSessions, toPatchedSession } from "../host/session.ts";
import type { SessionChat } from "@board/core/context/session-message";
import { parseHostCommand } from "../wire/chat-text.ts";
import { createSessionMapper, GatewaySession } from "./session-entry.ts";
import { callInteractively } from "./interactive-call.ts";

export const GatewaySessions = lazyObject(() => ({
  sessions: z.array(GatewaySession).describe("The host's sessions, in the host's order."),
  main_session: GatewaySession.nullable().describe("Session of the gateway's main agent; null when it does not exist."),
  ...truncatable,
})).meta({ id: "GatewaySessions", description: "Sessions of a host." });
export type GatewaySessions = z.infer<typeof GatewaySessions>;

export const GatewaySessionRead = lazyObject(() => ({ session: GatewaySession.describe("The session.") })).meta({
  id: "GatewaySessionRead",
  description: "One session of a host.",
});
export type GatewaySessionRead = z.infer<typeof GatewaySessionRead>;

export const GatewaySessionHistory = lazyObject(() => ({
  history: z.array(z.unknown()).describe("Messages as the host stores them, oldest first."),
  ...truncatable,
})).meta({ id: "GatewaySessionHistory", description: "Messages of a session." });
export type GatewaySessionHistory = z.infer<typeof GatewaySessionHistory>;

/** The default that the hosts use themselves. */
const DEFAULT_HISTORY = 200;
const MAX_HISTORY = 1_000;

export const HistoryQuery = lazyObject(() => ({
  ...TargetQuery.shape,
  limit: QueryInteger(1, MAX_HISTORY).default(DEFAULT_HISTORY).describe("Number of latest messages to return."),
}));
export type HistoryQuery = z.infer<typeof HistoryQuery>;

export const SendSessionMessage = lazyObject(() => ({ content: NonEmpty(MAX_TEXT).describe("Text of the message.") })).meta({
  id: "GatewaySessionMessageCreate",
});
export type SendSessionMessage = z.infer<typeof SendSessionMessage>;

/** Lists all sessions of a host. If the query names a board, a missing main session is created. */
export async function listSessions(ctx: Context<Admin>, query: TargetQuery): Promise<GatewaySessions> {
  const host = await resolveTarget(ctx, query);
  const [listed, main] = await callInteractively(ctx, host, "sessions.list", async () => {
    const sessions = await listHostSessions(ctx, host);
    const present = sessions.find(({ key }) => key === host.main_session_key) ?? null;
    return [sessions, present ?? (query.board_id === undefined ? null : await ensureMainSession(ctx, host))] as const;
  });
  const toGatewaySession = await createSessionMapper(ctx, [...listed, main]);
  return { sessions: listed.map(toGatewaySession), main_session: main && toGatewaySession(main) };
}

/** Returns the session with exactly this key. If it is the main session and does not exist, it is created first. */
export async function getSession(ctx: Context<Admin>, session_key: string, query: TargetQuery): Promise<GatewaySessionRead> {
  const host = await resolveTarget(ctx, query);
  const session = await callInteractively(ctx, host, "sessions.list", async () => {
    const ensured = session_key === host.main_session_key ? await ensureMainSession(ctx, host) : null;
    // A host does not list the session of a main agent that it does not have yet, so the created session is returned.
    return (await listHostSessions(ctx, host)).find(({ key }) => key === session_key) ?? ensured;
  });
  if (!session) throw notFound();
  const toGatewaySession = await createSessionMapper(ctx, [session]);
  return { session: toGatewaySession(session) };
}

export async function getSessionHistory(
  ctx: Context<Admin>,
  session_key: string,
  query: HistoryQuery,
): Promise<GatewaySessionHistory> {
  const host = await resolveTarget(ctx, query);
  const payload = await callInteractively(ctx, host, "chat.history", () =>
    ctx.gateways.request(host.target, "chat.history", { sessionKey: session_key, limit: query.limit }),
  );
  const messages = Array.isArray(payload) ? payload : asRecord(payload)?.messages;
  return { history: Array.isArray(messages) ? messages.map((message) => limitDepth(message)) : [] };
}

/**
 * Sends a message to a session. The agent's reply stays in the session. A message that is only a command is sent as a command. A
 * board in the query requires write access.
 */
export async function sendSessionMessage(
  ctx: Context<Admin>,
  session_key: string,
  query: TargetQuery,
  { content }: SendSessionMessage,
): Promise<void> {
  const host = await resolveTarget(ctx, query, "write");
  const command = parseHostCommand(content);
  const fields = { session_key, deliver: false, idempotency_key: `session-${randomUUID()}` };
  const chat: SessionChat = command ? { ...fields, command } : { ...fields, message: content };
  await callInteractively(ctx, host, "chat.send", () => sendChat(ctx.gateways, host.target, chat));
}

async function listHostSessions(ctx: Context, { target }: ResolvedHost): Promise<HostSession[]> {
  return toHostSessions(await ctx.gateways.request(target, "sessions.list", {}));
}

/** Returns the session of the main agent, and creates it if it does not exist. Null for a host that is not stored. */
export async function ensureMainSession(ctx: Context, { target, main_session_key }: ResolvedHost): Promise<HostSession | null> {
  if (main_session_key === null) return null;
  return toPatchedSession(await ensureSession(ctx.gateways, target, main_session_key, null), main_session_key);
}
