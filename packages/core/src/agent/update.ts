import { and, asc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { requireKeyForAllBoards } from "../organization/board-rights.ts";
import { type Admin, mainSessionKey } from "../context/actor.ts";
import { storeBoardEvents } from "../subscription/board-event.ts";
import { boards } from "../schema/board.sql.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import type { Context } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError, notFound } from "../values/errors.ts";
import type { GatewayKind } from "../schema/gateway.sql.ts";
import { noHost } from "./pull-gateway.ts";
import { gatewayKind } from "../gateway/target.ts";
import type { NewJob } from "../job/job.ts";
import { unassignAgent } from "../task/unassign-agent.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { type AgentRead, type AgentRow, CreateAgent, agentNameTaken, requireAgentCapacity, toAgent } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { agentUpdatedEvents } from "./board-events.ts";
import { agentSessionKey } from "../values/session-key.ts";
import { enqueueCleanup, enqueueHeartbeatConfig, enqueueProvision, enqueueUpdate } from "./jobs.ts";
import { agentFor, type HostedAgent, lockHostedAgent } from "./lookup.ts";
import { mintToken } from "./token.ts";

export const UpdateAgent = lazyObject(() => {
  const { name, heartbeat_config, identity_profile, identity_template, soul_template, requests_per_minute } = CreateAgent.shape;
  return {
    name: name.optional().describe("Name of the agent, unique on its board regardless of case."),
    board_id: Id.nullable().optional().describe("Board to move the agent to; ignored for a main agent that stays one."),
    is_gateway_main: z
      .boolean()
      .optional()
      .describe("True makes it the main agent of its gateway; false moves it to `board_id`."),
    heartbeat_config: heartbeat_config.unwrap().optional().describe("Heartbeat settings for the host."),
    identity_profile: identity_profile.unwrap().optional().describe("Keys such as role, communication_style and emoji."),
    identity_template: identity_template
      .unwrap()
      .optional()
      .describe("Text of IDENTITY.md that replaces the default; blank or null restores the default."),
    soul_template: soul_template
      .unwrap()
      .optional()
      .describe("Text of SOUL.md that replaces the default; blank or null restores the default."),
    requests_per_minute: requests_per_minute
      .unwrap()
      .optional()
      .describe("Requests that the agent may send in a clock minute, beyond which it gets 429; null removes the limit."),
    status: z.unknown().optional().describe("Rejected: heartbeats set the status."),
  };
}).meta({
  id: "AgentUpdate",
  "x-llm-intent": "agent_profile_update",
  "x-when-to-use": ["Changing the name, role, heartbeat or board of an agent"],
});
export type UpdateAgent = z.infer<typeof UpdateAgent>;

/**
 * Updates an agent (docs/reference/agents.md#changing-an-agent) and enqueues the work on its host. A moved agent is created on
 * its new host with a new token and removed from the old host. Until the new host has the new token, the old token works. `force`
 * rewrites all files, including BOOTSTRAP.md, even if nothing has changed.
 */
export async function updateAgent(
  ctx: Context<Admin>,
  agent_id: string,
  sent: UpdateAgent,
  { force }: { force: boolean },
): Promise<AgentRead> {
  for (;;) {
    const found = await agentFor(ctx, agent_id);
    if (sent.status !== undefined) throw new DomainError("forbidden", "Agent status is controlled by heartbeats.");
    const requested = await findDestination(ctx, found, sent);
    const row = await withLockTimeoutRetry(ctx, async (ctx) => {
      const destination = await lockDestination(ctx, found, requested);
      const locked = await lockHostedAgent(ctx, found);
      return locked && (await applyUpdate(ctx, locked, sent, { destination, force }));
    });
    // If no row is returned, the agent was moved or removed before it was locked. The next pass checks access again, on its new
    // board.
    if (row) return toAgent(row, ctx.now());
  }
}

/** Where an agent moves to. If `board` is null, it becomes the main agent of the gateway. */
interface Destination {
  gateway_id: string;
  kind: GatewayKind;
  board: BoardRow | null;
}

/** Returns where the agent is to move, or null if it does not move. */
async function findDestination(ctx: Context<Admin>, found: HostedAgent, sent: UpdateAgent): Promise<Destination | null> {
  const { agent, gateway } = found;
  const { board_id, is_gateway_main } = sent;
  const isMain = agent.board_id === null;
  if (is_gateway_main === true) {
    requireKeyForAllBoards(ctx.actor);
    const gateway_id = board_id ? (await getWritableBoard(ctx, gateway, board_id)).gateway_id : agent.gateway_id;
    const kind = await gatewayKind(ctx, { gateway_id, organization_id: gateway.organization_id });
    if (kind === "pull") throw noHost();
    return isMain && gateway_id === agent.gateway_id ? null : { gateway_id, kind, board: null };
  }
  if (is_gateway_main === undefined && (isMain || board_id === undefined)) return null;
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  if (board_id === agent.board_id) return null;
  const board = await getWritableBoard(ctx, gateway, board_id);
  return { gateway_id: board.gateway_id, kind: await gatewayKind(ctx, board), board };
}

/** Returns a board of the agent's organization that the caller may write to. Throws `not_found`. */
async function getWritableBoard(
  ctx: Context<Admin>,
  { organization_id }: HostedAgent["gateway"],
  board_id: string,
): Promise<BoardRow> {
  const board = await boardFor(ctx, board_id, "write");
  if (board.organization_id !== organization_id) throw notFound();
  return board;
}

/** Locks the old and the new board, in the order of their ids, and reads the destination again. */
async function lockDestination(
  ctx: Context<Admin>,
  { agent, gateway }: HostedAgent,
  requested: Destination | null,
): Promise<Destination | null> {
  if (!requested) return null;
  const ids = [agent.board_id, requested.board?.id ?? null].filter((id) => id !== null);
  const locked = await ctx.db
    .select()
    .from(boards)
    .where(and(inArray(boards.id, ids), eq(boards.organization_id, gateway.organization_id)))
    .orderBy(asc(boards.id))
    .for("no key update");
  if (!requested.board) return requested;
  const board = locked.find(({ id }) => id === requested.board?.id);
  if (!board) throw notFound();
  await requireAgentCapacity(ctx, board.id, board.max_agents);
  return { gateway_id: board.gateway_id, kind: await gatewayKind(ctx, board), board };
}

interface UpdatePlan {
  destination: Destination | null;
  force: boolean;
}

async function applyUpdate(
  ctx: Context<Admin>,
  hosted: HostedAgent,
  sent: UpdateAgent,
  { destination, force }: UpdatePlan,
): Promise<AgentRow> {
  const { agent } = hosted;
  const { status: _status, is_gateway_main: _main, board_id: _board, ...fields } = sent;
  const changes = changedFields(agent, { ...fields, ...(destination ? toPlacement(agent, destination) : {}) });
  const isRelocated = changes.gateway_id !== undefined || changes.openclaw_session_id !== undefined;
  const row = isEmpty(changes)
    ? agent
    : await storeChanges(ctx, agent, { ...changes, ...(isRelocated ? initialLifecycle(agent, destination!.kind) : {}) });
  if (destination) await releaseTasks(ctx, hosted, destination);
  const boardEventJobs = await storeBoardEvents(
    ctx,
    agentUpdatedEvents(hosted.gateway.organization_id, { before: agent, after: row, changes }),
  );
  if (isRelocated) await enqueueRelocation(ctx, hosted, row, boardEventJobs);
  else await enqueueRefresh(ctx, hosted, row, { changes, force, boardEventJobs });
  return row;
}

/**
 * Returns the new gateway, board and session. A lead or main agent that moves gets a new session, because its old session belongs
 * to its board or gateway. Workers keep their session.
 */
function toPlacement(agent: AgentRow, { gateway_id, kind, board }: Destination) {
  const isWorker = !agent.is_board_lead && agent.board_id !== null;
  const key = (isWorker && agent.openclaw_session_id) || agentSessionKey(agent.id);
  return {
    gateway_id,
    board_id: board?.id ?? null,
    is_board_lead: false,
    openclaw_session_id: kind === "pull" ? null : board ? key : mainSessionKey(gateway_id),
  };
}

/** Returns the state of an agent that moves. Its token stays valid until its new host, if any, has a new token. */
const initialLifecycle = (agent: AgentRow, kind: GatewayKind) => ({
  status: kind === "pull" ? ("ready" as const) : ("provisioning" as const),
  previous_status: null,
  lifecycle_generation: agent.lifecycle_generation + 1,
  wake_attempts: 0,
  checkin_deadline_at: null,
  last_provision_error: null,
});

const mainTaken = () => new DomainError("conflict", "Gateway already has a main agent.");

async function storeChanges(ctx: Context, { id, gateway_id }: AgentRow, changes: Partial<AgentRow>): Promise<AgentRow> {
  const taken = { agents_name_on_board: agentNameTaken, agents_one_main: mainTaken, agents_session: mainTaken };
  const [row] = await mapUniqueViolation(taken, () =>
    ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(and(eq(agents.id, id), eq(agents.gateway_id, gateway_id)))
      .returning(),
  );
  return row!;
}

/** Unassigns the agent's tasks on boards that it no longer works on, so that other agents can take these tasks. */
async function releaseTasks(
  ctx: Context<Admin>,
  { agent, gateway }: HostedAgent,
  { board, gateway_id }: Destination,
): Promise<void> {
  const subject = { id: agent.id, organization_id: gateway.organization_id };
  await unassignAgent(ctx, subject, board ? { board_id: board.id } : { gateway_id });
}

async function enqueueRelocation(
  ctx: Context<Admin>,
  { agent, gateway }: HostedAgent,
  row: AgentRow,
  boardEventJobs: readonly NewJob[],
): Promise<void> {
  const { organization_id } = gateway;
  const { user_id } = ctx.actor;
  await enqueueProvision(ctx, row, { organization_id, user_id, reset: true, auth_token: mintToken() }, boardEventJobs);
  await enqueueCleanup(ctx, gateway, agent);
}

/**
 * Enqueues a rewrite of the files if their contents may have changed. A changed heartbeat only needs a setting on the host, and a
 * changed request limit needs no work on the host.
 */
async function enqueueRefresh(
  ctx: Context<Admin>,
  { gateway: { organization_id } }: HostedAgent,
  row: AgentRow,
  { changes, force, boardEventJobs }: { changes: Partial<AgentRow>; force: boolean; boardEventJobs: readonly NewJob[] },
): Promise<void> {
  const { user_id } = ctx.actor;
  const { heartbeat_config, requests_per_minute: _limit, ...fileChanges } = changes;
  if (force || !isEmpty(fileChanges)) {
    await enqueueUpdate(ctx, row, { organization_id, user_id, reset: true, force_bootstrap: force }, boardEventJobs);
  } else {
    const agent_ids = heartbeat_config !== undefined && row.openclaw_session_id ? [row.id] : [];
    await enqueueHeartbeatConfig(ctx, { gateway_id: row.gateway_id, organization_id }, agent_ids, boardEventJobs);
  }
}
