import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import { recordLateEvent } from "../activity/activity.ts";
import type { EventType } from "../activity/activity.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { jobs } from "../job/job.sql.ts";
import type { JobKind } from "../job/kinds.ts";
import { type AgentStatus, agents } from "./agent.sql.ts";
import { DEFAULT_HEARTBEAT } from "./heartbeat-config.ts";
import { hostLane } from "./host.ts";
import { OFFLINE_SECONDS } from "./presence.ts";

/** An agent at one moment of its life, with whose it is. */
export type LiveAgent = typeof agents.$inferSelect & { organization_id: string };

const NO_WAKE = { wake_attempts: 0, checkin_deadline_at: null };

/** The agent, kept as it is until the transaction ends. */
export async function lockAgent(ctx: Context, which: SQL | undefined): Promise<LiveAgent | null> {
  const [row] = await ctx.db
    .select({ ...getTableColumns(agents), organization_id: gateways.organization_id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(which)
    .for("no key update", { of: agents });
  return row ?? null;
}

/** The agent while it leads the life that a job belongs to. */
export const ofGeneration = (id: string, generation: number) =>
  and(eq(agents.id, id), eq(agents.lifecycle_generation, generation));

/** Writes what differs; a row that has it all does not move. */
export async function change(ctx: Context, agent: LiveAgent, wanted: Partial<typeof agents.$inferSelect>): Promise<LiveAgent> {
  const changes = changesOf<Partial<typeof agents.$inferSelect>>(agent, wanted);
  if (!isEmpty(changes))
    await ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(eq(agents.id, agent.id));
  return { ...agent, ...changes };
}

/** An attempt to provision begins: null when the agent it was for is gone or leads another life. */
export function beginProvision(ctx: Context, agent_id: string, generation: number): Promise<LiveAgent | null> {
  return transaction(ctx, async (ctx) => {
    const agent = await lockAgent(ctx, ofGeneration(agent_id, generation));
    if (!agent || agent.status === "deleting") return null;
    // One that was given up and is tried again.
    const status = agent.status === "offline" ? "provisioning" : agent.status;
    return change(ctx, agent, { status, ...withHeartbeat(agent), ...NO_WAKE });
  });
}

/**
 * An attempt to update begins, in a generation of its own: null when the agent is gone, or lives somewhere else than in
 * this lane. Nor is there anything to do when a provisioning waits in the lane, which writes everything anew.
 */
export function beginUpdate(ctx: Context, agent_id: string, lane: string | null): Promise<LiveAgent | null> {
  return transaction(ctx, async (ctx) => {
    const agent = await lockAgent(ctx, eq(agents.id, agent_id));
    if (!agent || agent.status === "deleting" || lane === null || laneOf(agent) !== lane) return null;
    if (await isProvisioningNext(ctx, lane)) return null;
    return change(ctx, agent, {
      status: "updating",
      previous_status: agent.status === "updating" ? agent.previous_status : agent.status,
      lifecycle_generation: agent.lifecycle_generation + 1,
      ...withHeartbeat(agent),
      ...NO_WAKE,
    });
  });
}

const withHeartbeat = ({ heartbeat_config }: LiveAgent) => ({ heartbeat_config: heartbeat_config ?? DEFAULT_HEARTBEAT });

const laneOf = ({ gateway_id, openclaw_session_id }: LiveAgent) =>
  openclaw_session_id && hostLane(gateway_id, openclaw_session_id);

async function isProvisioningNext(ctx: Context, lane: string): Promise<boolean> {
  const waiting = and(eq(jobs.lane, lane), eq(jobs.status, "queued"), eq(jobs.kind, "agent.provision" satisfies JobKind));
  const [found] = await ctx.db.select({ id: jobs.id }).from(jobs).where(waiting).limit(1);
  return found !== undefined;
}

/** The work on the host is done. `problem` is what people still have to see to. Null when the agent leads another life by now. */
export async function settle(
  ctx: Context,
  { id, lifecycle_generation }: LiveAgent,
  problem: string | null,
): Promise<LiveAgent | null> {
  const agent = await lockAgent(ctx, ofGeneration(id, lifecycle_generation));
  if (!agent) return null;
  const settled = await change(ctx, agent, {
    status: statusAfter(agent, ctx.now()),
    previous_status: null,
    last_provision_error: problem,
  });
  const wasOnline = agent.status === "online" || agent.previous_status === "online";
  if (settled.status === "online" && !wasOnline) await tell(ctx, agent, "agent.connected", `Agent connected: ${agent.name}.`);
  return settled;
}

function statusAfter({ status, last_seen_at }: LiveAgent, now: Date): AgentStatus {
  if (status === "provisioning") return "ready";
  if (status !== "updating") return status;
  const wasSeen = last_seen_at !== null && now.getTime() - last_seen_at.getTime() <= OFFLINE_SECONDS * 1000;
  return wasSeen ? "online" : "ready";
}

/** An attempt to provision failed. Without another one to come the agent is offline, unless it came online by itself. */
export async function failProvision(
  ctx: Context,
  agent_id: string,
  generation: number,
  { error, is_last }: { error: string; is_last: boolean },
): Promise<LiveAgent | null> {
  const agent = await lockAgent(ctx, ofGeneration(agent_id, generation));
  if (!agent) return null;
  if (is_last && agent.status === "provisioning") await goOffline(ctx, agent, error);
  else await change(ctx, agent, { last_provision_error: error, ...NO_WAKE });
  return agent;
}

/** An attempt to update failed: the agent is what it was before. One that has moved away meanwhile is left alone. */
export async function failUpdate(ctx: Context, agent_id: string, lane: string | null, error: string): Promise<LiveAgent | null> {
  const agent = await lockAgent(ctx, eq(agents.id, agent_id));
  // Jobs of a lane run one by one, so that an update of this place is the one that failed.
  if (!agent || agent.status !== "updating" || laneOf(agent) !== lane) return null;
  const status = agent.previous_status ?? "offline";
  await change(ctx, agent, { status, previous_status: null, last_provision_error: error, ...NO_WAKE });
  return agent;
}

/** The agent is not expected to answer any more. */
export async function goOffline(ctx: Context, agent: LiveAgent, error: string): Promise<void> {
  await change(ctx, agent, { status: "offline", previous_status: null, last_provision_error: error, ...NO_WAKE });
  if (agent.status !== "offline") await tell(ctx, agent, "agent.disconnected", `Agent disconnected: ${agent.name}.`);
}

/** Writes of an agent in the activity log. */
export async function tell(
  ctx: Context,
  { id, organization_id, board_id }: LiveAgent,
  event_type: EventType,
  message: string,
  user_id: string | null = null,
): Promise<void> {
  await recordLateEvent(ctx, event_type, { organization_id, board_id, agent_id: id, user_id, message });
}
