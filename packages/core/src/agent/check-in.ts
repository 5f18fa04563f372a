import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import type { Admin, Agent } from "../actor.ts";
import { newEvents, type TypedEvent } from "../activity/activity.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { boardDenied, DomainError, InvalidInput, notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { Id, MAX_NAME, NonEmpty } from "../wire.ts";
import { AgentCreated, type AgentRead, agentShape, CreateAgent, createAgent, toAgent } from "./agent.ts";
import { agents } from "./agent.sql.ts";
import { agentFor } from "./lookup.ts";
import { HELD, PRESENCE_SECONDS } from "./presence.ts";
import { type LiveAgent, lockAgent } from "./state.ts";

/** Null is the plain case: the agent is online. */
const Status = z.enum(["online", "active", "ready", "offline"]).nullable().default(null);
type Status = z.infer<typeof Status>;

export const CheckIn = z
  .object({ status: Status.describe("How the agent is from now on; online when left out.") })
  .meta({ id: "AgentHeartbeat" });
export type CheckIn = z.infer<typeof CheckIn>;

export const CheckInByName = z
  .object({
    name: NonEmpty(MAX_NAME).nullable().default(null).describe("Name of the agent; an agent itself may leave it out."),
    board_id: Id.nullable().default(null).describe("Board of the agent; an agent itself may leave it out."),
    status: Status.describe("How the agent is from now on; left out of account for one that is made."),
  })
  .meta({ id: "AgentHeartbeatByName" });
export type CheckInByName = z.infer<typeof CheckInByName>;

export const CheckedIn = z
  .object({ ...agentShape, auth_token: AgentCreated.shape.auth_token.optional() })
  .meta({ id: "AgentCheckedIn", description: "The agent; with its token when this made it." });
export type CheckedIn = z.infer<typeof CheckedIn>;

/** A heartbeat of an agent by its id: of the agent itself, or in its stead by an admin who may write to its board. */
export async function checkIn(ctx: Context<Admin | Agent>, agent_id: string, { status }: CheckIn): Promise<AgentRead> {
  await requireOwn(ctx, agent_id);
  return record(ctx, agent_id, status);
}

/** The agent is the caller, or one that the caller may change. */
export async function requireOwn(ctx: Context<Admin | Agent>, agent_id: string): Promise<void> {
  const { actor } = ctx;
  if (actor.type === "user") await agentFor({ ...ctx, actor }, agent_id);
  else if (actor.agent_id !== agent_id) throw (await isColleague(ctx, actor, agent_id)) ? boardDenied() : notFound();
}

async function isColleague(ctx: Context, { organization_id }: Agent, agent_id: string): Promise<boolean> {
  const [found] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
  return found !== undefined;
}

/**
 * A heartbeat without an id: of the agent itself, whatever it is called, or for the agent of a board that an admin names.
 * One that is not there is made by the rules of creation; it has not been heard from yet.
 */
export async function checkInByName(ctx: Context<Admin | Agent>, { name, board_id, status }: CheckInByName): Promise<CheckedIn> {
  const { actor } = ctx;
  if (actor.type === "agent") return record(ctx, actor.agent_id, status);
  if (name === null) throw new InvalidInput([{ type: "missing", loc: ["body", "name"], msg: "Field required", input: null }]);
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  const board = await boardFor({ ...ctx, actor }, board_id, "write");
  // The caller may be a member of the board's organization and an admin of this one.
  if (board.organization_id !== actor.active.organization_id) throw notFound();
  // Another request may make it at the same moment, or remove it: whichever of the two is refused looks once more.
  const present = await findNamed(ctx, board, name);
  if (present) return record(ctx, present, status);
  try {
    return await createAgent({ ...ctx, actor }, CreateAgent.parse({ name, board_id }));
  } catch (error) {
    const made = error instanceof DomainError && error.kind === "conflict" ? await findNamed(ctx, board, name) : null;
    if (!made) throw error;
    return record(ctx, made, status);
  }
}

async function findNamed(ctx: Context, board: BoardRow, name: string): Promise<string | null> {
  const [found] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.board_id, board.id), eq(sql`lower(${agents.name})`, sql`lower(${name})`)));
  return found?.id ?? null;
}

/** Writes what a sign of life changes (contract conventions.md §7), but with the status that it names. */
function record(ctx: Context<Admin | Agent>, agent_id: string, status: Status): Promise<AgentRead> {
  const { actor } = ctx;
  const organization_id = actor.type === "agent" ? actor.organization_id : actor.active.organization_id;
  return transaction(ctx, async (ctx) => {
    const before = await lockAgent(ctx, and(eq(agents.id, agent_id), eq(gateways.organization_id, organization_id)));
    if (!before) throw notFound();
    const now = ctx.now();
    const seen = before.last_seen_at === null || now.getTime() - before.last_seen_at.getTime() >= PRESENCE_SECONDS * 1000;
    const changes = changesOf(before, {
      status: HELD.includes(before.status) ? before.status : (status ?? "online"),
      last_seen_at: seen ? now : before.last_seen_at,
      wake_attempts: 0,
      checkin_deadline_at: null,
    });
    const events = eventsOf(ctx, before, changes.status, seen);
    if (events.length > 0) await newEvents(ctx, events);
    if (isEmpty(changes)) return toAgent(before, now);
    // The end of a wake cycle alone is not shown to anybody.
    const isVisible = changes.status !== undefined || seen;
    const [row] = await ctx.db
      .update(agents)
      .set({ ...changes, ...(seen ? {} : { updated_at: sql`${agents.updated_at}` }), ...(isVisible ? changedNow : {}) })
      .where(eq(agents.id, before.id))
      .returning();
    return toAgent(row!, now);
  });
}

/** Of an agent's own heartbeat, signing in has recorded already that it was seen, and told that it is connected. */
function eventsOf({ actor }: Context, agent: LiveAgent, status: string | undefined, seen: boolean): TypedEvent[] {
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
