import { and, count, desc, eq, getTableColumns, isNull, or, sql } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, readableBoards } from "../access.ts";
import type { Admin, Lead } from "../actor.ts";
import { toBoardEvents } from "../board-event/board-event.ts";
import { boards } from "../board/board.sql.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { boardDenied, DomainError, notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { Blankable, Id, Instant, JsonObject, MAX_NAME, MAX_TEXT, NonEmpty, rule } from "../wire.ts";
import { agents } from "./agent.sql.ts";
import { newAgentBoardEvents } from "./board-events.ts";
import { leadSessionKey, ownSessionKey } from "./host.ts";
import { actingUser, enqueueProvision } from "./lifecycle.ts";
import { shownStatus } from "./presence.ts";
import { mintToken, storedToken } from "./token.ts";

export type AgentRow = typeof agents.$inferSelect;

export const agentShape = {
  id: Id.describe("Id of the agent."),
  gateway_id: Id.describe("Gateway that runs the agent."),
  board_id: Id.nullable().describe("Board of the agent; null for the main agent of its gateway."),
  name: z.string().describe("Name of the agent."),
  status: z
    .enum(["online", "updating", "deleting", "active", "provisioning", "ready", "offline"])
    .describe("State of the agent; offline when it was not heard from for ten minutes."),
  is_board_lead: z.boolean().describe("Whether the agent leads its board."),
  is_gateway_main: z.boolean().describe("Whether the agent is the main agent of its gateway."),
  openclaw_session_id: z.string().nullable().describe("Session key on the gateway."),
  last_seen_at: Instant.nullable().describe("When the agent was last heard from."),
  heartbeat_config: z.record(z.string(), z.unknown()).nullable().describe("Heartbeat settings of the host."),
  identity_profile: z.record(z.string(), z.string()).nullable().describe("Role, style and the like."),
  identity_template: z.string().nullable().describe("Own text for IDENTITY.md."),
  soul_template: z.string().nullable().describe("Own text for SOUL.md."),
  last_provision_error: z.string().nullable().describe("Why the last provisioning or update failed."),
  created_at: Instant.describe("When the agent was made."),
  updated_at: Instant.describe("When the agent last changed."),
};
export const AgentRead = z.object(agentShape).meta({
  id: "AgentRead",
  description: "An agent.",
  "x-llm-intent": "agent_profile_lookup",
  "x-when-to-use": ["Reading who an agent is and how it is doing"],
});
export type AgentRead = z.infer<typeof AgentRead>;

export const AgentCreated = z
  .object({ ...agentShape, auth_token: z.string().describe("The agent's token. This is the only time it is shown.") })
  .meta({ id: "AgentCreated", description: "A new agent with its token." });
export type AgentCreated = z.infer<typeof AgentCreated>;

export const IdentityProfile = JsonObject.nullable().transform((profile) => toProfile(profile));

const HeartbeatConfig = JsonObject.refine((config) => config["every"] === undefined || typeof config["every"] === "string", {
  ...rule("heartbeat_config.every must be a string"),
});

export const CreateAgent = z
  .object({
    name: NonEmpty(MAX_NAME).describe("Name of the agent, unique on its board in any case."),
    board_id: Id.nullable().optional().describe("Board of the agent. A lead may leave it out."),
    is_board_lead: z.boolean().default(false).describe("Make it the board's lead; ignored from leads."),
    heartbeat_config: HeartbeatConfig.nullable().default(null).describe("Heartbeat settings of the host."),
    identity_profile: IdentityProfile.default(null).describe("Role, communication_style, emoji and further keys."),
    identity_template: Blankable(MAX_TEXT).default(null).describe("Own text for IDENTITY.md."),
    soul_template: Blankable(MAX_TEXT).default(null).describe("Own text for SOUL.md."),
  })
  .meta({ id: "AgentCreate", "x-llm-intent": "agent_profile", "x-when-to-use": ["Adding an agent with a name and a role"] });
export type CreateAgent = z.infer<typeof CreateAgent>;

export interface AgentQuery extends PageQuery {
  board_id?: string | undefined;
  gateway_id?: string | undefined;
}

/**
 * Creates an agent on a board, with its token, which is shown this once; its host is told by a job. The limit of the board counts agents other
 * than its lead, under a lock on the board.
 */
export async function createAgent(ctx: Context<Admin | Lead>, input: CreateAgent): Promise<AgentCreated> {
  const board = await boardForNewAgent(ctx, input.board_id ?? null);
  const is_board_lead = ctx.actor.type === "user" && input.is_board_lead;
  const auth_token = mintToken();
  const stored = await storedToken(ctx.settings.token_pepper, auth_token);
  const id = crypto.randomUUID();
  return transaction(ctx, async (ctx) => {
    await requireUsableGateway(ctx, board);
    const [locked] = await ctx.db
      .select({ max_agents: boards.max_agents })
      .from(boards)
      .where(eq(boards.id, board.id))
      .for("update");
    if (!locked) throw notFound();
    if (!is_board_lead) await requireRoom(ctx, board.id, locked.max_agents);
    // A board's leads would share one session key, so a second lead may be caught by either index.
    const taken = { agents_name_on_board: nameTaken, agents_one_lead: leadTaken, agents_session: leadTaken };
    const [row] = await mapConflict(taken, () =>
      ctx.db
        .insert(agents)
        .values({
          ...input,
          ...stored,
          id,
          board_id: board.id,
          gateway_id: board.gateway_id,
          is_board_lead,
          openclaw_session_id: is_board_lead ? leadSessionKey(board.id) : ownSessionKey(id),
          lifecycle_generation: 1,
        })
        .returning(),
    );
    const { organization_id } = board;
    const told = toBoardEvents(ctx, newAgentBoardEvents(organization_id, row!));
    await enqueueProvision(ctx, row!, { organization_id, user_id: actingUser(ctx), reset: true, auth_token }, told);
    return { ...toAgent(row!, ctx.now()), auth_token };
  });
}

async function boardForNewAgent(ctx: Context<Admin | Lead>, board_id: string | null): Promise<BoardRow> {
  if (ctx.actor.type === "agent") {
    if (board_id && board_id !== ctx.actor.board_id) throw boardDenied();
    return boardFor(ctx, ctx.actor.board_id, "write");
  }
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  const board = await boardFor(ctx, board_id, "write");
  // An admin here may be a plain member there.
  if (board.organization_id !== ctx.actor.active.organization_id) throw notFound();
  return board;
}

async function requireUsableGateway(ctx: Context, board: BoardRow): Promise<void> {
  const [gateway] = await ctx.db
    .select({ url: gateways.url, workspace_root: gateways.workspace_root })
    .from(gateways)
    .where(and(eq(gateways.id, board.gateway_id), eq(gateways.organization_id, board.organization_id)));
  if (!gateway) throw new DomainError("invalid", "Board gateway_id is invalid");
  if (!gateway.url.trim()) throw new DomainError("invalid", "Gateway url is required");
  if (!gateway.workspace_root.trim()) throw new DomainError("invalid", "Gateway workspace_root is required");
}

/** The board is locked. */
export async function requireRoom(ctx: Context, board_id: string, max_agents: number): Promise<void> {
  const [found] = await ctx.db
    .select({ total: count() })
    .from(agents)
    .where(and(eq(agents.board_id, board_id), eq(agents.is_board_lead, false)));
  if (found!.total >= max_agents)
    throw new DomainError("conflict", `Board has reached its agent limit (max_agents=${max_agents}, excluding the lead).`);
}

export const nameTaken = () => new DomainError("conflict", "An agent with this name already exists on this board.");
const leadTaken = () => new DomainError("conflict", "Board already has a lead agent.");

/** Agents of readable boards and main agents of the organization's gateways, newest first. */
export async function listAgents(ctx: Context<Admin>, query: AgentQuery): Promise<Page<AgentRead>> {
  const { organization_id } = ctx.actor.active;
  if (query.board_id) await boardFor(ctx, query.board_id, "read");
  if (query.gateway_id) await requireGateway(ctx, query.gateway_id);
  const visible = or(readableBoards(ctx.actor), and(isNull(agents.board_id), eq(gateways.organization_id, organization_id)));
  const ofBoard = query.board_id ? eq(agents.board_id, query.board_id) : undefined;
  const ofGateway = query.gateway_id
    ? or(eq(boards.gateway_id, query.gateway_id), and(isNull(agents.board_id), eq(agents.gateway_id, query.gateway_id)))
    : undefined;
  const where = and(visible, ofBoard, ofGateway);
  const from = sql`${agents} join ${gateways} on ${gateways}.id = ${agents}.gateway_id left join ${boards} on ${boards}.id = ${agents}.board_id`;
  const total = ctx.db.$count(from, where);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: agents, total })
        .from(agents)
        .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
        .leftJoin(boards, eq(boards.id, agents.board_id))
        .where(where)
        .orderBy(desc(agents.created_at), desc(agents.id))
        .limit(limit)
        .offset(offset),
    (row) => toAgent(row, ctx.now()),
  );
}

async function requireGateway(ctx: Context<Admin>, gateway_id: string): Promise<void> {
  const [gateway] = await ctx.db
    .select({ id: gateways.id })
    .from(gateways)
    .where(and(eq(gateways.id, gateway_id), eq(gateways.organization_id, ctx.actor.active.organization_id)));
  if (!gateway) throw notFound();
}

/** One agent of a readable board, or the main agent of an own gateway. */
export async function getAgent(ctx: Context<Admin>, agent_id: string): Promise<AgentRead> {
  const [row] = await ctx.db
    .select(getTableColumns(agents))
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .leftJoin(boards, eq(boards.id, agents.board_id))
    .where(
      and(
        eq(agents.id, agent_id),
        eq(gateways.organization_id, ctx.actor.active.organization_id),
        or(isNull(agents.board_id), readableBoards(ctx.actor)),
      ),
    );
  if (!row) throw notFound();
  return toAgent(row, ctx.now());
}

/** Keys trimmed, blank keys and null values dropped, lists joined, everything else as trimmed text; null when nothing is left. */
function toProfile(profile: Record<string, unknown> | null): Record<string, string> | null {
  const entries = Object.entries(profile ?? {}).flatMap(([key, value]): [string, string][] => {
    const name = key.trim();
    if (!name || value === null || value === undefined) return [];
    const text = Array.isArray(value) ? value.map(toText).join(", ") : toText(value);
    return text ? [[name, text]] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

const toText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value)).trim();

export function toAgent(row: AgentRow, now: Date): AgentRead {
  return {
    id: row.id,
    gateway_id: row.gateway_id,
    board_id: row.board_id,
    name: row.name,
    status: shownStatus(row, now),
    is_board_lead: row.is_board_lead,
    is_gateway_main: row.board_id === null,
    openclaw_session_id: row.openclaw_session_id,
    last_seen_at: row.last_seen_at?.toISOString() ?? null,
    heartbeat_config: row.heartbeat_config,
    identity_profile: row.identity_profile,
    identity_template: row.identity_template,
    soul_template: row.soul_template,
    last_provision_error: row.last_provision_error,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
