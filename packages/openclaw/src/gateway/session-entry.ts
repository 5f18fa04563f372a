import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "@board/core/context/actor";
import { agents } from "@board/core/schema/agent.sql";
import type { Context } from "@board/core/context/context";
import type { HostSession } from "../host/session.ts";
import { truncatable } from "@board/core/lists/large-fields";
import { Id, Instant, lazyObject, toInstant } from "@board/core/values/wire";
import { gateways } from "@board/core/schema/gateway.sql";

export const GatewaySession = lazyObject(() => ({
  key: z.string().describe("Session key, such as `agent:<agent>:main`."),
  label: z.string().nullable().describe("Name of the session on the host; usually the agent's name."),
  agent_id: Id.nullable().describe("The organization's agent that the session belongs to."),
  agent_name: z.string().nullable().describe("Name of the agent."),
  last_activity: Instant.nullable().describe("When the session was last active."),
  ...truncatable,
}))
  .loose()
  .meta({ id: "GatewaySession", description: "A session as its host reports it, with the agent that it belongs to." });
export type GatewaySession = z.infer<typeof GatewaySession>;

/** Known hosts report fewer than a hundred fields. */
const MAX_SESSION_FIELDS = 200;

/** Reads the agents of these sessions in one statement. Returns a function that adds the agent to a session. */
export async function createSessionMapper(
  ctx: Context<Admin>,
  sessions: readonly (HostSession | null)[],
): Promise<(session: HostSession) => GatewaySession> {
  const keys = sessions.flatMap((session) => session?.key ?? []).filter((key) => key.startsWith("agent:") && !key.includes("\0"));
  const owners = keys.length === 0 ? [] : await listAgentsBySessionKey(ctx, keys);
  const agentByKey = new Map(owners.map((agent) => [agent.key, agent]));
  return (session) => {
    const { key, label, updatedAt } = session;
    const agent = agentByKey.get(key);
    return {
      ...Object.fromEntries(Object.entries(session).slice(0, MAX_SESSION_FIELDS)),
      key,
      label: typeof label === "string" ? label : null,
      agent_id: agent?.id ?? null,
      agent_name: agent?.name ?? null,
      last_activity: toLastActivity(updatedAt),
    };
  };
}

/**
 * Reads the agents of these sessions. The keys are passed as one array, because a host may have more sessions than a statement
 * may have parameters.
 */
const listAgentsBySessionKey = (ctx: Context<Admin>, keys: string[]) =>
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

/** Converts a time that a host reports in milliseconds. Returns null for anything that is not a time. */
function toLastActivity(stamp: unknown): string | null {
  const date = new Date(typeof stamp === "number" ? stamp : Number.NaN);
  const text = Number.isNaN(date.getTime()) ? stamp : date.toISOString();
  return typeof text === "string" ? (toInstant(text)?.toISOString() ?? null) : null;
}
