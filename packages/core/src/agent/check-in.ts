import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../organization/access.ts";
import type { Admin, Agent } from "../context/actor.ts";
import { insertEvents } from "../activity/activity.ts";
import type { NewActivityEvent } from "../activity/event-type.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { boardAccessDenied, DomainError, InvalidInput, notFound } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { Id, MAX_NAME, NonEmpty, lazyObject } from "../values/wire.ts";
import { AgentCreated, AgentRead, CreateAgent, createAgent, toAgent } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { agentFor } from "./lookup.ts";
import { PRESENCE_EXEMPT_STATUSES, isSeenStale } from "./presence.ts";
import { type AgentWithOrganization, lockAgentById } from "./lifecycle.ts";
import { runWrite } from "../db/prepared-write.ts";

/** Null means `online`. */
const Status = z.enum(["online", "active", "ready", "offline"]).nullable().default(null);
type Status = z.infer<typeof Status>;

export const CheckIn = lazyObject(() => ({ status: Status.describe("New status of the agent; online when omitted.") })).meta({
  id: "AgentHeartbeat",
});
export type CheckIn = z.infer<typeof CheckIn>;

export const CheckInByName = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).nullable().default(null).describe("Name of the agent; agents may omit it."),
  board_id: Id.nullable().default(null).describe("Board of the agent; agents may omit it."),
  status: Status.describe("New status of the agent; online when omitted, and ignored when the agent is created."),
})).meta({ id: "AgentHeartbeatByName" });
export type CheckInByName = z.infer<typeof CheckInByName>;

export const CheckedIn = lazyObject(() => ({ ...AgentRead.shape, auth_token: AgentCreated.shape.auth_token.optional() })).meta({
  id: "AgentCheckedIn",
  description: "The agent, with its token when this request created it.",
});
export type CheckedIn = z.infer<typeof CheckedIn>;

/** Records a heartbeat for an agent by its id. The caller is the agent itself or an admin who may write to its board. */
export async function checkIn(ctx: Context<Admin | Agent>, agent_id: string, { status }: CheckIn): Promise<AgentRead> {
  await requireSelfOrAdmin(ctx, agent_id);
  return recordCheckIn(ctx, agent_id, status);
}

/** Checks that the caller is this agent, or an admin who may change it. */
export async function requireSelfOrAdmin(ctx: Context<Admin | Agent>, agent_id: string): Promise<void> {
  const { actor } = ctx;
  if (actor.type === "user") await agentFor({ ...ctx, actor }, agent_id);
  else if (actor.agent_id !== agent_id)
    throw (await isInSameOrganization(ctx, actor, agent_id)) ? boardAccessDenied() : notFound();
}

async function isInSameOrganization(ctx: Context, { organization_id }: Agent, agent_id: string): Promise<boolean> {
  const [found] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
  return found !== undefined;
}

/**
 * Records a heartbeat of the calling agent, or of an agent that an admin identifies by board and name. An agent that does not
 * exist is created, but does not count as seen.
 */
export async function checkInByName(ctx: Context<Admin | Agent>, { name, board_id, status }: CheckInByName): Promise<CheckedIn> {
  const { actor } = ctx;
  if (actor.type === "agent") return recordCheckIn(ctx, actor.agent_id, status);
  if (name === null) throw new InvalidInput([{ type: "missing", loc: ["body", "name"], msg: "Field required", input: null }]);
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  const board = await boardFor({ ...ctx, actor }, board_id, "write");
  // The caller is known to be an admin only in the active organization, so a board of another organization is refused.
  if (board.organization_id !== actor.active.organization_id) throw notFound();
  // Another request may create the agent at the same time. The request that gets the conflict looks the agent up again.
  const existing_id = await findAgentByName(ctx, board, name);
  if (existing_id) return recordCheckIn(ctx, existing_id, status);
  try {
    return await createAgent({ ...ctx, actor }, CreateAgent.parse({ name, board_id }));
  } catch (error) {
    const created_id = error instanceof DomainError && error.kind === "conflict" ? await findAgentByName(ctx, board, name) : null;
    if (!created_id) throw error;
    return recordCheckIn(ctx, created_id, status);
  }
}

async function findAgentByName(ctx: Context, board: BoardRow, name: string): Promise<string | null> {
  const [found] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.board_id, board.id), eq(sql`lower(${agents.name})`, sql`lower(${name})`)));
  return found?.id ?? null;
}

/** Records presence (docs/reference/conventions.md#presence) with the status of the heartbeat. */
function recordCheckIn(ctx: Context<Admin | Agent>, agent_id: string, status: Status): Promise<AgentRead> {
  const { actor } = ctx;
  const organization_id = actor.type === "agent" ? actor.organization_id : actor.active.organization_id;
  return transaction(ctx, async (ctx) => {
    const before = await lockAgentById(ctx, agent_id, organization_id);
    if (!before) throw notFound();
    const now = ctx.now();
    const seen = isSeenStale(before, now);
    const changes = changedFields(before, {
      status: PRESENCE_EXEMPT_STATUSES.includes(before.status) ? before.status : (status ?? "online"),
      last_seen_at: seen ? now : before.last_seen_at,
      wake_attempts: 0,
      checkin_deadline_at: null,
    });
    const events = toCheckInEvents(ctx, before, changes.status, seen);
    if (events.length > 0) await runWrite(ctx, insertEvents(events));
    if (isEmpty(changes)) return toAgent(before, now);
    // Clients cannot see the end of a wake cycle. So an update that only ends a wake cycle adds no entry to the change feed.
    const isVisible = changes.status !== undefined || seen;
    const [row] = await ctx.db
      .update(agents)
      .set({ ...changes, ...(seen ? {} : { updated_at: sql`${agents.updated_at}` }), ...(isVisible ? changedNow : {}) })
      .where(eq(agents.id, before.id))
      .returning();
    return toAgent(row!, now);
  });
}

/**
 * Returns the activity events of a check-in. If the agent itself calls, authentication has already recorded its presence and
 * `agent.connected`.
 */
function toCheckInEvents(
  { actor }: Context,
  agent: AgentWithOrganization,
  status: string | undefined,
  seen: boolean,
): NewActivityEvent[] {
  const { organization_id, board_id, id: agent_id, name } = agent;
  const about = { organization_id, board_id, agent_id, ...(actor.type === "user" ? { user_id: actor.user_id } : {}) };
  const isHeartbeat = seen || (actor.type === "agent" && actor.newly_seen);
  return [
    ...(status === "online" ? [{ event_type: "agent.connected" as const, message: `Agent connected: ${name}.`, ...about }] : []),
    ...(isHeartbeat ? [{ event_type: "agent.heartbeat" as const, message: `Heartbeat received from ${name}.`, ...about }] : []),
    ...(status === "offline"
      ? [{ event_type: "agent.disconnected" as const, message: `Agent disconnected: ${name}.`, ...about }]
      : []),
  ];
}
