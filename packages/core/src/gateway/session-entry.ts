import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import type { Context } from "../context.ts";
import { Id, Instant, toInstant } from "../wire.ts";
import { record } from "./frame.ts";
import { gateways } from "./gateway.sql.ts";

export const GatewaySession = z
  .looseObject({
    key: z.string().describe("Session key, such as `agent:<agent>:main`."),
    label: z.string().nullable().describe("What the host calls the session; usually the agent's name."),
    agent_id: Id.nullable().describe("Agent of the organization whose own session this is."),
    agent_name: z.string().nullable().describe("Its name."),
    last_activity: Instant.nullable().describe("When something last happened in it."),
  })
  .meta({ id: "GatewaySession", description: "A session as its host describes it, with what is known of its agent." });
export type GatewaySession = z.infer<typeof GatewaySession>;

/** A session of a host, as far as it can be named. */
export interface HostSession {
  key: string;
  [field: string]: unknown;
}

/** What hosts send is passed on only so deep: JSON can be parsed at depths at which it cannot be written again. */
const MAX_DEPTH = 32;

/** A host's value without what lies too deep, which becomes null. */
export function bounded(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((part) => bounded(part, depth - 1));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, bounded(part, depth - 1)]));
}

/** The answer to sessions.list: `{sessions}` or an array; anything else is no session, and so is an entry without a key. */
export function toHostSessions(payload: unknown): HostSession[] {
  const listed = Array.isArray(payload) ? payload : record(payload)?.sessions;
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((entry) => {
    const key = record(entry)?.key;
    return typeof key === "string" && key !== "" ? [{ ...record(bounded(entry)), key }] : [];
  });
}

/** The session that sessions.patch answers with. */
export function toPatchedSession(payload: unknown, key: string): HostSession {
  const answer = record(payload);
  return { ...record(bounded(record(answer?.entry) ?? answer)), key };
}

/** Looks up the agents of these sessions, in one statement, and returns what adds them to a session. */
export async function agentsOf(
  ctx: Context<Admin>,
  sessions: readonly (HostSession | null)[],
): Promise<(session: HostSession) => GatewaySession> {
  const keys = sessions.flatMap((session) => session?.key ?? []).filter((key) => key.startsWith("agent:") && !key.includes("\0"));
  const found = keys.length === 0 ? [] : await listAgentsOfKeys(ctx, keys);
  const agentOf = new Map(found.map((agent) => [agent.key, agent]));
  return (session) => {
    const { key, label, updatedAt } = session;
    const agent = agentOf.get(key);
    return {
      ...session,
      label: typeof label === "string" ? label : null,
      agent_id: agent?.id ?? null,
      agent_name: agent?.name ?? null,
      last_activity: toActivity(updatedAt),
    };
  };
}

/** The keys go as one array: a host may have more sessions than a statement may have parameters. */
const listAgentsOfKeys = (ctx: Context<Admin>, keys: string[]) =>
  ctx.db
    .select({ id: agents.id, name: agents.name, key: agents.openclaw_session_id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(
      and(
        eq(gateways.organization_id, ctx.actor.active.organization_id),
        sql`${agents.openclaw_session_id} = any(${sql.param(keys)}::text[])`,
      ),
    );

/** Hosts stamp in milliseconds. Null for what is no time. */
function toActivity(stamp: unknown): string | null {
  const date = new Date(typeof stamp === "number" ? stamp : Number.NaN);
  const text = Number.isNaN(date.getTime()) ? stamp : date.toISOString();
  return typeof text === "string" ? (toInstant(text)?.toISOString() ?? null) : null;
}
