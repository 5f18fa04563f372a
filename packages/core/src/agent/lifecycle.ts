import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { recordLateEvent } from "../activity/activity.ts";
import type { EventType } from "../activity/event-type.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { actingAs, actingValue, preparedActingAs } from "../db/change-actor.ts";
import { preparedQuery } from "../db/prepared.ts";
import { changedNow } from "../schema/columns.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import type { JobKind } from "../job/kinds.ts";
import { type AgentStatus, agents } from "../schema/agent.sql.ts";
import { DEFAULT_HEARTBEAT } from "./heartbeat-config.ts";
import { hostLane } from "../values/session-key.ts";
import { OFFLINE_SECONDS } from "./presence.ts";

/** The row of an agent, with the organization of its gateway. */
export type AgentWithOrganization = typeof agents.$inferSelect & { organization_id: string };

const CLEARED_WAKE = { wake_attempts: 0, checkin_deadline_at: null };

/** Locks the agent that matches the condition until the transaction ends. */
export async function lockAgent(ctx: Context, condition: SQL | undefined): Promise<AgentWithOrganization | null> {
  const [row] = await selectLocked(ctx.db, and(condition, actingAs(ctx)));
  return row ?? null;
}

/** Locks an agent of the organization until the transaction ends. Returns null if the agent does not exist. */
export async function lockAgentById(
  ctx: Context,
  agent_id: string,
  organization_id: string,
): Promise<AgentWithOrganization | null> {
  const [row] = await selectLockedById(ctx.db).execute({ agent_id, organization_id, ...actingValue(ctx) });
  return row ?? null;
}

const selectLocked = (db: Db, condition: SQL | undefined) =>
  db
    .select({ ...getTableColumns(agents), organization_id: gateways.organization_id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(condition)
    .for("no key update", { of: agents });

const selectLockedById = preparedQuery((db) =>
  selectLocked(
    db,
    and(
      eq(agents.id, sql.placeholder("agent_id")),
      eq(gateways.organization_id, sql.placeholder("organization_id")),
      preparedActingAs,
    ),
  ),
);

/** Returns a condition on `agents`: whether the agent still has the generation that a job was created for. */
export const isGeneration = (id: string, generation: number) =>
  and(eq(agents.id, id), eq(agents.lifecycle_generation, generation));

/** Writes the values that differ from the row. If all values are equal, no statement is sent. */
export async function updateAgentFields(
  ctx: Context,
  agent: AgentWithOrganization,
  values: Partial<typeof agents.$inferSelect>,
): Promise<AgentWithOrganization> {
  const changes = changedFields<Partial<typeof agents.$inferSelect>>(agent, values);
  if (!isEmpty(changes))
    await ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(eq(agents.id, agent.id));
  return { ...agent, ...changes };
}

/** Starts an attempt to provision. Returns null if the agent was removed or has a later generation. */
export function beginProvision(ctx: Context, agent_id: string, generation: number): Promise<AgentWithOrganization | null> {
  return transaction(ctx, async (ctx) => {
    const agent = await lockAgent(ctx, isGeneration(agent_id, generation));
    if (!agent || agent.status === "deleting") return null;
    // An agent whose job failed for good is offline. If such a job is queued again, the agent is provisioning again.
    const status = agent.status === "offline" ? "provisioning" : agent.status;
    return updateAgentFields(ctx, agent, { status, ...withDefaultHeartbeat(agent), ...CLEARED_WAKE });
  });
}

/**
 * Starts an attempt to update, with a new generation. Returns null if the agent was removed or moved to another lane, or if a
 * provisioning job is queued in the lane, because that job rewrites all files anyway.
 */
export function beginUpdate(ctx: Context, agent_id: string, lane: string | null): Promise<AgentWithOrganization | null> {
  return transaction(ctx, async (ctx) => {
    const agent = await lockAgent(ctx, eq(agents.id, agent_id));
    if (!agent || agent.status === "deleting" || lane === null || agentLane(agent) !== lane) return null;
    if (await isProvisioningQueued(ctx, lane)) return null;
    return updateAgentFields(ctx, agent, {
      status: "updating",
      previous_status: agent.status === "updating" ? agent.previous_status : agent.status,
      lifecycle_generation: agent.lifecycle_generation + 1,
      ...withDefaultHeartbeat(agent),
      ...CLEARED_WAKE,
    });
  });
}

const withDefaultHeartbeat = ({ heartbeat_config }: AgentWithOrganization) => ({
  heartbeat_config: heartbeat_config ?? DEFAULT_HEARTBEAT,
});

const agentLane = ({ gateway_id, openclaw_session_id }: AgentWithOrganization) =>
  openclaw_session_id && hostLane(gateway_id, openclaw_session_id);

async function isProvisioningQueued(ctx: Context, lane: string): Promise<boolean> {
  const isQueued = and(eq(jobs.lane, lane), eq(jobs.status, "queued"), eq(jobs.kind, "agent.provision" satisfies JobKind));
  const [job] = await ctx.db.select({ id: jobs.id }).from(jobs).where(isQueued).limit(1);
  return job !== undefined;
}

/**
 * Records that the work on the host succeeded. `problem` names any part that could not be done. Returns null if the agent has a
 * later generation.
 */
export async function completeProvisioning(
  ctx: Context,
  { id, lifecycle_generation }: AgentWithOrganization,
  problem: string | null,
): Promise<AgentWithOrganization | null> {
  const agent = await lockAgent(ctx, isGeneration(id, lifecycle_generation));
  if (!agent) return null;
  const updated = await updateAgentFields(ctx, agent, {
    status: statusAfterWork(agent, ctx.now()),
    previous_status: null,
    last_provision_error: problem,
  });
  const wasOnline = agent.status === "online" || agent.previous_status === "online";
  if (updated.status === "online" && !wasOnline)
    await recordAgentEvent(ctx, agent, "agent.connected", `Agent connected: ${agent.name}.`);
  return updated;
}

function statusAfterWork({ status, last_seen_at }: AgentWithOrganization, now: Date): AgentStatus {
  if (status === "provisioning") return "ready";
  if (status !== "updating") return status;
  const wasSeen = last_seen_at !== null && now.getTime() - last_seen_at.getTime() <= OFFLINE_SECONDS * 1000;
  return wasSeen ? "online" : "ready";
}

/**
 * Records a failed attempt to provision. The last attempt marks the agent offline, unless the agent has come online in the
 * meantime.
 */
export async function failProvision(
  ctx: Context,
  agent_id: string,
  generation: number,
  { error, is_last }: { error: string; is_last: boolean },
): Promise<AgentWithOrganization | null> {
  const agent = await lockAgent(ctx, isGeneration(agent_id, generation));
  if (!agent) return null;
  if (is_last && agent.status === "provisioning") await setOffline(ctx, agent, error);
  else await updateAgentFields(ctx, agent, { last_provision_error: error, ...CLEARED_WAKE });
  return agent;
}

/** Records a failed attempt to update and restores the previous status. Does nothing if the agent has moved. */
export async function failUpdate(
  ctx: Context,
  agent_id: string,
  lane: string | null,
  error: string,
): Promise<AgentWithOrganization | null> {
  const agent = await lockAgent(ctx, eq(agents.id, agent_id));
  // The jobs of a lane run one at a time. So if an agent of this lane is updating, it is the agent whose job failed.
  if (!agent || agent.status !== "updating" || agentLane(agent) !== lane) return null;
  const status = agent.previous_status ?? "offline";
  await updateAgentFields(ctx, agent, { status, previous_status: null, last_provision_error: error, ...CLEARED_WAKE });
  return agent;
}

/**
 * Records that a wake-up was sent or held back. Clients cannot see these columns, so `updated_at` stays the same. Returns false
 * if the agent was removed or has a later generation.
 */
export async function startWakeCycle(
  ctx: Context,
  { id, lifecycle_generation }: AgentWithOrganization,
  wake: { wake_attempts: number; last_wake_sent_at?: Date; checkin_deadline_at: Date },
): Promise<boolean> {
  const updated = await ctx.db
    .update(agents)
    .set({ ...wake, updated_at: sql`${agents.updated_at}` })
    .where(isGeneration(id, lifecycle_generation))
    .returning({ id: agents.id });
  return updated.length > 0;
}

/** Marks the agent offline and stops waiting for it to check in. */
export async function setOffline(ctx: Context, agent: AgentWithOrganization, error: string): Promise<void> {
  await updateAgentFields(ctx, agent, { status: "offline", previous_status: null, last_provision_error: error, ...CLEARED_WAKE });
  if (agent.status !== "offline") await recordAgentEvent(ctx, agent, "agent.disconnected", `Agent disconnected: ${agent.name}.`);
}

/** Records an event about an agent in the activity log. */
export async function recordAgentEvent(
  ctx: Context,
  { id, organization_id, board_id }: AgentWithOrganization,
  event_type: EventType,
  message: string,
  user_id: string | null = null,
): Promise<void> {
  await recordLateEvent(ctx, event_type, { organization_id, board_id, agent_id: id, user_id, message });
}
