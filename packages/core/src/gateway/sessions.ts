import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { MAX_TEXT, NonEmpty, QueryInteger } from "../wire.ts";
import { record } from "./frame.ts";
import { type NamedHost, resolveTarget, TargetQuery } from "./resolve-target.ts";
import { ensureSession } from "./session.ts";
import { agentsOf, bounded, GatewaySession, type HostSession, toHostSessions, toPatchedSession } from "./session-entry.ts";
import { requestSession } from "./waiting.ts";

export const GatewaySessions = z
  .object({
    sessions: z.array(GatewaySession).describe("The host's sessions, in its order."),
    main_session: GatewaySession.nullable().describe("That of the gateway's main agent, when there is one."),
  })
  .meta({ id: "GatewaySessions", description: "Sessions of a host." });
export type GatewaySessions = z.infer<typeof GatewaySessions>;

export const OneGatewaySession = z
  .object({ session: GatewaySession.describe("The session.") })
  .meta({ id: "GatewaySessionRead", description: "One session of a host." });
export type OneGatewaySession = z.infer<typeof OneGatewaySession>;

export const GatewaySessionHistory = z
  .object({ history: z.array(z.unknown()).describe("Messages as the host keeps them, oldest first.") })
  .meta({ id: "GatewaySessionHistory", description: "What was said in a session." });
export type GatewaySessionHistory = z.infer<typeof GatewaySessionHistory>;

/** As many as hosts give to a client that does not say. */
const DEFAULT_HISTORY = 200;
const MAX_HISTORY = 1_000;

export const HistoryQuery = TargetQuery.extend({
  limit: QueryInteger(1, MAX_HISTORY).default(DEFAULT_HISTORY).describe("How many of the latest messages."),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

export const SendSessionMessage = z
  .object({ content: NonEmpty(MAX_TEXT).describe("What is said into the session.") })
  .meta({ id: "GatewaySessionMessageCreate" });
export type SendSessionMessage = z.infer<typeof SendSessionMessage>;

/** Everything the host lists. With a board named, the main session is there: made when it is missing. */
export async function listSessions(ctx: Context<Admin>, query: TargetQuery): Promise<GatewaySessions> {
  const host = await resolveTarget(ctx, query);
  const [listed, main] = await requestSession(ctx, host, "sessions.list", async () => {
    const sessions = await readSessions(ctx, host);
    const present = sessions.find(({ key }) => key === host.main_session_key) ?? null;
    return [sessions, present ?? (query.board_id === undefined ? null : await ensureMain(ctx, host))] as const;
  });
  const describe = await agentsOf(ctx, [...listed, main]);
  return { sessions: listed.map(describe), main_session: main && describe(main) };
}

/** One session by its exact key. Asked for the main session, the host is made to have it first. */
export async function getSession(ctx: Context<Admin>, session_key: string, query: TargetQuery): Promise<OneGatewaySession> {
  const host = await resolveTarget(ctx, query);
  const found = await requestSession(ctx, host, "sessions.list", async () => {
    const ensured = session_key === host.main_session_key ? await ensureMain(ctx, host) : null;
    // Hosts hide the sessions of agents they do not have yet.
    return (await readSessions(ctx, host)).find(({ key }) => key === session_key) ?? ensured;
  });
  if (!found) throw notFound();
  const describe = await agentsOf(ctx, [found]);
  return { session: describe(found) };
}

export async function getSessionHistory(
  ctx: Context<Admin>,
  session_key: string,
  query: HistoryQuery,
): Promise<GatewaySessionHistory> {
  const host = await resolveTarget(ctx, query);
  const payload = await requestSession(ctx, host, "chat.history", () =>
    ctx.gateways.request(host.target, "chat.history", { sessionKey: session_key, limit: query.limit }),
  );
  const messages = Array.isArray(payload) ? payload : record(payload)?.messages;
  return { history: Array.isArray(messages) ? messages.map((message) => bounded(message)) : [] };
}

/** Says something into a session; the answer stays in it. Naming a board takes the right to write to it. */
export async function sendSessionMessage(
  ctx: Context<Admin>,
  session_key: string,
  query: TargetQuery,
  { content }: SendSessionMessage,
): Promise<void> {
  const host = await resolveTarget(ctx, query, "write");
  const message = { sessionKey: session_key, message: content, deliver: false, idempotencyKey: `session-${randomUUID()}` };
  await requestSession(ctx, host, "chat.send", () => ctx.gateways.request(host.target, "chat.send", message));
}

async function readSessions(ctx: Context, { target }: NamedHost): Promise<HostSession[]> {
  return toHostSessions(await ctx.gateways.request(target, "sessions.list", {}));
}

/** The session of the main agent, made when it is missing; its label stays. Null for a host that is not saved. */
export async function ensureMain(ctx: Context, { target, main_session_key }: NamedHost): Promise<HostSession | null> {
  if (main_session_key === null) return null;
  return toPatchedSession(await ensureSession(ctx.gateways, target, main_session_key, null), main_session_key);
}
