import { and, asc, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor } from "../access.ts";
import { type Admin, mainSessionKey } from "../actor.ts";
import { toBoardEvents } from "../board-event/board-event.ts";
import { boards } from "../board/board.sql.ts";
import { changesOf, isEmpty } from "../change.ts";
import type { Context } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { mapConflict } from "../db/conflict.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { DomainError, notFound } from "../errors.ts";
import type { NewJob } from "../job/job.ts";
import { releaseAgent } from "../task/release-agent.ts";
import { Id } from "../wire.ts";
import { type AgentRead, type AgentRow, CreateAgent, nameTaken, requireRoom, toAgent } from "./agent.ts";
import { agents } from "./agent.sql.ts";
import { agentBoardEvents } from "./board-events.ts";
import { enqueueCleanup } from "./cleanup.ts";
import { enqueueHeartbeatConfig } from "./heartbeat-config.ts";
import { ownSessionKey } from "./host.ts";
import { enqueueProvision, enqueueUpdate } from "./lifecycle.ts";
import { agentFor, type Hosted, holdAgent } from "./lookup.ts";
import { mintToken } from "./token.ts";

const { name, heartbeat_config, identity_profile, identity_template, soul_template } = CreateAgent.shape;

export const UpdateAgent = z
  .object({
    name: name.optional().describe("Name of the agent, unique on its board in any case."),
    board_id: Id.nullable().optional().describe("Board to move to; left out of account for a main agent that stays one."),
    is_gateway_main: z.boolean().optional().describe("Make it the main agent of its gateway, or an agent of `board_id` again."),
    heartbeat_config: heartbeat_config.unwrap().optional().describe("Heartbeat settings of the host."),
    identity_profile: identity_profile.unwrap().optional().describe("Role, communication_style, emoji and further keys."),
    identity_template: identity_template.unwrap().optional().describe("Own text for IDENTITY.md; blank or null removes it."),
    soul_template: soul_template.unwrap().optional().describe("Own text for SOUL.md; blank or null removes it."),
    status: z.unknown().optional().describe("Refused: the status follows the agent's heartbeats."),
  })
  .meta({
    id: "AgentUpdate",
    "x-llm-intent": "agent_profile_update",
    "x-when-to-use": ["Changing who an agent is, how often it wakes up, or the board that it works on"],
  });
export type UpdateAgent = z.infer<typeof UpdateAgent>;

/**
 * Changes what was sent (contract agents.md §4), and has the host follow by a job. An agent that gets another place on a
 * host is made there with a new token and removed from the old one; until then the old token goes on working. `force`
 * writes everything anew, BOOTSTRAP.md too, also when nothing has changed.
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
    const wanted = await findDestination(ctx, found, sent);
    const row = await transactionGivingWay(ctx, async (ctx) => {
      const destination = await holdDestination(ctx, found, wanted);
      const held = await holdAgent(ctx, found);
      return held && (await change(ctx, held, sent, { destination, force }));
    });
    // It was moved or removed since it was found: who may change it can have changed with its board.
    if (row) return toAgent(row, ctx.now());
  }
}

/** Where an agent is to work from now on: on a board, or with `board` null as the main agent of a gateway. */
interface Destination {
  gateway_id: string;
  board: BoardRow | null;
}

/** Null when it stays where it is. */
async function findDestination(ctx: Context<Admin>, found: Hosted, sent: UpdateAgent): Promise<Destination | null> {
  const { agent, gateway } = found;
  const { board_id, is_gateway_main } = sent;
  const isMain = agent.board_id === null;
  if (is_gateway_main === true) {
    const gateway_id = board_id ? (await boardOf(ctx, gateway, board_id)).gateway_id : agent.gateway_id;
    return isMain && gateway_id === agent.gateway_id ? null : { gateway_id, board: null };
  }
  if (is_gateway_main === undefined && (isMain || board_id === undefined)) return null;
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  if (board_id === agent.board_id) return null;
  const board = await boardOf(ctx, gateway, board_id);
  return { gateway_id: board.gateway_id, board };
}

/** A board that the caller may write to, in the organization of the agent: the caller may be a member of others too. */
async function boardOf(ctx: Context<Admin>, { organization_id }: Hosted["gateway"], board_id: string): Promise<BoardRow> {
  const board = await boardFor(ctx, board_id, "write");
  if (board.organization_id !== organization_id) throw notFound();
  return board;
}

/** The same, with the boards between which the agent moves held until the transaction ends, in the order of their ids. */
async function holdDestination(
  ctx: Context<Admin>,
  { agent, gateway }: Hosted,
  wanted: Destination | null,
): Promise<Destination | null> {
  if (!wanted) return null;
  const ids = [agent.board_id, wanted.board?.id ?? null].filter((id) => id !== null);
  const held = await ctx.db
    .select()
    .from(boards)
    .where(and(inArray(boards.id, ids), eq(boards.organization_id, gateway.organization_id)))
    .orderBy(asc(boards.id))
    .for("no key update");
  if (!wanted.board) return wanted;
  const board = held.find(({ id }) => id === wanted.board?.id);
  if (!board) throw notFound();
  await requireRoom(ctx, board.id, board.max_agents);
  return { gateway_id: board.gateway_id, board };
}

interface Wish {
  destination: Destination | null;
  force: boolean;
}

async function change(ctx: Context<Admin>, held: Hosted, sent: UpdateAgent, { destination, force }: Wish): Promise<AgentRow> {
  const { agent } = held;
  const { status: _status, is_gateway_main: _main, board_id: _board, ...fields } = sent;
  const changes = changesOf(agent, { ...fields, ...(destination ? placeAt(agent, destination) : {}) });
  const moves = changes.gateway_id !== undefined || changes.openclaw_session_id !== undefined;
  const row = isEmpty(changes) ? agent : await store(ctx, agent, { ...changes, ...(moves ? newLife(agent) : {}) });
  if (destination) await leaveTasks(ctx, held, destination);
  const told = toBoardEvents(ctx, agentBoardEvents(held.gateway.organization_id, { before: agent, after: row, changes }));
  if (moves) await resettle(ctx, held, row, told);
  else await refresh(ctx, held, row, { changes, force, told });
  return row;
}

/** A lead's session belongs to its board and a main agent's to its gateway; any other agent takes its own along. */
function placeAt(agent: AgentRow, { gateway_id, board }: Destination) {
  const isOwn = !agent.is_board_lead && agent.board_id !== null;
  const key = (isOwn && agent.openclaw_session_id) || ownSessionKey(agent.id);
  return {
    gateway_id,
    board_id: board?.id ?? null,
    is_board_lead: false,
    openclaw_session_id: board ? key : mainSessionKey(gateway_id),
  };
}

/** What an agent starts with in another place. Its token stays in force until the new one is written there. */
const newLife = (agent: AgentRow) => ({
  status: "provisioning" as const,
  previous_status: null,
  lifecycle_generation: agent.lifecycle_generation + 1,
  wake_attempts: 0,
  checkin_deadline_at: null,
  last_provision_error: null,
});

const mainTaken = () => new DomainError("conflict", "Gateway already has a main agent.");

async function store(ctx: Context, { id, gateway_id }: AgentRow, changes: Partial<AgentRow>): Promise<AgentRow> {
  const taken = { agents_name_on_board: nameTaken, agents_one_main: mainTaken, agents_session: mainTaken };
  const [row] = await mapConflict(taken, () =>
    ctx.db
      .update(agents)
      .set({ ...changes, ...changedNow })
      .where(and(eq(agents.id, id), eq(agents.gateway_id, gateway_id)))
      .returning(),
  );
  return row!;
}

/** Nobody else can go on with a task whose agent does not come to its board any more. */
async function leaveTasks(ctx: Context<Admin>, { agent, gateway }: Hosted, { board, gateway_id }: Destination): Promise<void> {
  const subject = { id: agent.id, organization_id: gateway.organization_id };
  await releaseAgent(ctx, subject, board ? { board_id: board.id } : { gateway_id });
}

async function resettle(ctx: Context<Admin>, { agent, gateway }: Hosted, row: AgentRow, told: readonly NewJob[]): Promise<void> {
  const { organization_id } = gateway;
  const { user_id } = ctx.actor;
  await enqueueProvision(ctx, row, { organization_id, user_id, reset: true, auth_token: mintToken() }, told);
  await enqueueCleanup(ctx, gateway, agent, { gateway_stays: true });
}

/** The files are written anew when anything in them can be different; the heartbeat alone is a setting of the host. */
async function refresh(
  ctx: Context<Admin>,
  { gateway: { organization_id } }: Hosted,
  row: AgentRow,
  { changes, force, told }: { changes: Partial<AgentRow>; force: boolean; told: readonly NewJob[] },
): Promise<void> {
  const { user_id } = ctx.actor;
  const { heartbeat_config, ...inFiles } = changes;
  if (force || !isEmpty(inFiles)) {
    await enqueueUpdate(ctx, row, { organization_id, user_id, reset: true, force_bootstrap: force }, told);
  } else if (heartbeat_config !== undefined) {
    const hosted = row.openclaw_session_id ? [row.id] : [];
    await enqueueHeartbeatConfig(ctx, { gateway_id: row.gateway_id, organization_id }, hosted, told);
  }
}
