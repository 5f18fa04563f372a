import { and, count, eq, getTableColumns, isNull, or } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, readableBoards } from "../organization/access.ts";
import type { Admin, Lead } from "../context/actor.ts";
import { storeBoardEvents } from "../subscription/board-event.ts";
import { boards } from "../schema/board.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { boardAccessDenied, DomainError, notFound } from "../values/errors.ts";
import { type GatewayKind, gateways } from "../schema/gateway.sql.ts";
import { requireOwnGateway, requireUsableGateway } from "../gateway/target.ts";
import { newestFirst } from "../lists/keyset.ts";
import { largeObject, largeText, truncatable } from "../lists/large-fields.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import {
  TextOrNull,
  Id,
  Instant,
  Integer,
  JsonObject,
  MAX_INTEGER,
  MAX_NAME,
  MAX_TEXT,
  NonEmpty,
  valueError,
  lazyObject,
} from "../values/wire.ts";
import { AgentStatus } from "./agent-status.ts";
import { agents, agentWords } from "../schema/agent.sql.ts";
import { agentCreatedEvents } from "./board-events.ts";
import { leadSessionKey, agentSessionKey } from "../values/session-key.ts";
import { IdentityProfile } from "./identity-profile.ts";
import { actingUserId, enqueueProvision } from "./jobs.ts";
import { readableAgent } from "./lookup.ts";
import { displayStatus } from "./presence.ts";
import { createToken } from "./token.ts";
import { listOf } from "../lists/list.ts";
import { orFilter, filterBy } from "../lists/filter.ts";
import { recordAudit } from "../audit/record.ts";

export type AgentRow = typeof agents.$inferSelect;

/** The fields of an agent that a list shortens when the answer would be too large. */
export const LARGE_AGENT_FIELDS = {
  heartbeat_config: largeObject,
  identity_profile: largeObject,
  identity_template: largeText,
  soul_template: largeText,
  last_provision_error: largeText,
};
export const AgentRead = lazyObject(() => ({
  id: Id.describe("Id of the agent."),
  gateway_id: Id.describe("Gateway that runs the agent."),
  board_id: Id.nullable().describe("Board of the agent; null for the main agent of its gateway."),
  name: z.string().describe("Name of the agent."),
  status: AgentStatus.describe("State of the agent; `offline` also when it has been silent for ten minutes."),
  is_board_lead: z.boolean().describe("Whether the agent leads its board."),
  is_gateway_main: z.boolean().describe("Whether the agent is the main agent of its gateway."),
  openclaw_session_id: z.string().nullable().describe("Session key on the gateway."),
  last_seen_at: Instant.nullable().describe("When the agent last made a request."),
  heartbeat_config: z.record(z.string(), z.unknown()).nullable().describe("Heartbeat settings for the host."),
  identity_profile: z.record(z.string(), z.string()).nullable().describe("Role, communication style and other keys."),
  identity_template: z.string().nullable().describe("Text of IDENTITY.md that replaces the default."),
  soul_template: z.string().nullable().describe("Text of SOUL.md that replaces the default."),
  last_provision_error: z.string().nullable().describe("Why the last provisioning or update failed."),
  requests_per_minute: z.int().nullable().describe("Requests that the agent may send in a clock minute; null for no limit."),
  created_at: Instant.describe("When the agent was created."),
  updated_at: Instant.describe("When the agent last changed."),
  ...truncatable,
})).meta({
  id: "AgentRead",
  description: "An agent.",
  "x-llm-intent": "agent_profile_lookup",
  "x-when-to-use": ["Reading who an agent is and how it is doing"],
});
export type AgentRead = z.infer<typeof AgentRead>;

export const AgentCreated = lazyObject(() => ({
  ...AgentRead.shape,
  auth_token: z
    .string()
    .nullable()
    .describe(
      "Token of the agent. It is returned only once, here; null in the repeated answer to a request with Idempotency-Key.",
    ),
})).meta({ id: "AgentCreated", description: "A new agent with its token." });
export type AgentCreated = z.infer<typeof AgentCreated>;

const HeartbeatConfig = JsonObject.refine((config) => config["every"] === undefined || typeof config["every"] === "string", {
  ...valueError("heartbeat_config.every must be a string"),
});

export const CreateAgent = lazyObject(() => ({
  name: NonEmpty(MAX_NAME).describe("Name of the agent, unique on its board regardless of case."),
  board_id: Id.nullable().optional().describe("Board of the agent. A lead may omit it."),
  is_board_lead: z.boolean().default(false).describe("Whether the agent leads its board; ignored when a lead sends it."),
  heartbeat_config: HeartbeatConfig.nullable().default(null).describe("Heartbeat settings for the host."),
  identity_profile: IdentityProfile.default(null).describe("Keys such as role, communication_style and emoji."),
  identity_template: TextOrNull(MAX_TEXT).default(null).describe("Text of IDENTITY.md that replaces the default."),
  soul_template: TextOrNull(MAX_TEXT).default(null).describe("Text of SOUL.md that replaces the default."),
  requests_per_minute: Integer(1, MAX_INTEGER)
    .nullable()
    .default(null)
    .describe("Requests that the agent may send in a clock minute, beyond which it gets 429; null for no limit."),
})).meta({ id: "AgentCreate", "x-llm-intent": "agent_profile", "x-when-to-use": ["Adding an agent with a name and a role"] });
export type CreateAgent = z.infer<typeof CreateAgent>;

export interface AgentQuery extends PageQuery {
  board_id?: string | undefined;
  gateway_id?: string | undefined;
  q?: string | undefined;
}

/**
 * Creates an agent on a board and returns its token, which no other call returns. If the gateway has a host, a job creates the
 * agent there. The limit of agents, which does not apply to the lead, is checked under a lock on the board.
 */
export async function createAgent(ctx: Context<Admin | Lead>, input: CreateAgent): Promise<AgentCreated> {
  const board = await boardForNewAgent(ctx, input.board_id ?? null);
  const is_board_lead = ctx.actor.type === "user" && input.is_board_lead;
  const { auth_token, stored } = await createToken(ctx.settings.token_pepper);
  const id = crypto.randomUUID();
  return transaction(ctx, async (ctx) => {
    const [locked] = await ctx.db
      .select({ gateway_id: boards.gateway_id, max_agents: boards.max_agents })
      .from(boards)
      .where(and(eq(boards.id, board.id), actingAs(ctx)))
      .for("update");
    if (!locked) throw notFound();
    // The board may have moved to another gateway after it was read.
    const { gateway_id } = locked;
    const { kind } = await requireBoardGateway(ctx, { ...board, gateway_id });
    if (!is_board_lead) await requireAgentCapacity(ctx, board.id, locked.max_agents);
    // All leads of a board have the same session key, so either of the last two indexes may reject a second lead.
    const conflicts = { agents_name_on_board: agentNameTaken, agents_one_lead: leadTaken, agents_session: leadTaken };
    const [row] = await mapUniqueViolation(conflicts, () =>
      ctx.db
        .insert(agents)
        .values({
          ...input,
          ...stored,
          id,
          board_id: board.id,
          gateway_id,
          is_board_lead,
          ...initialPlace(kind, is_board_lead ? leadSessionKey(board.id) : agentSessionKey(id)),
          lifecycle_generation: 1,
        })
        .returning(),
    );
    const { organization_id } = board;
    const boardEventJobs = await storeBoardEvents(ctx, agentCreatedEvents(organization_id, row!));
    await enqueueProvision(ctx, row!, { organization_id, user_id: actingUserId(ctx), reset: true, auth_token }, boardEventJobs);
    await recordAudit(ctx, "agent.created", { organization_id, target: row!, after: { board_id: board.id, is_board_lead } });
    return { ...toAgent(row!, ctx.now()), auth_token };
  });
}

async function boardForNewAgent(ctx: Context<Admin | Lead>, board_id: string | null): Promise<BoardRow> {
  if (ctx.actor.type === "agent") {
    if (board_id && board_id !== ctx.actor.board_id) throw boardAccessDenied();
    return boardFor(ctx, ctx.actor.board_id, "write");
  }
  if (!board_id) throw new DomainError("invalid", "board_id is required");
  const board = await boardFor(ctx, board_id, "write");
  // The caller is known to be an admin only in the active organization, so a board of another organization is refused.
  if (board.organization_id !== ctx.actor.active.organization_id) throw notFound();
  return board;
}

async function requireBoardGateway(ctx: Context, board: BoardRow): Promise<{ kind: GatewayKind }> {
  const [gateway] = await ctx.db
    .select({ kind: gateways.kind, url: gateways.url, workspace_root: gateways.workspace_root })
    .from(gateways)
    .where(and(eq(gateways.id, board.gateway_id), eq(gateways.organization_id, board.organization_id)));
  if (gateway?.kind !== "pull") requireUsableGateway(gateway, { needs_workspace: true });
  return gateway;
}

/**
 * Returns the first session and status of an agent. A pull agent has no host, so it gets no session and no jobs, and is ready at
 * once.
 */
export const initialPlace = (kind: GatewayKind, session_key: string) =>
  kind === "pull"
    ? ({ openclaw_session_id: null, status: "ready" } as const)
    : ({ openclaw_session_id: session_key, status: "provisioning" } as const);

/** Throws `conflict` if the board has reached its limit of agents. The caller must have locked the board. */
export async function requireAgentCapacity(ctx: Context, board_id: string, max_agents: number): Promise<void> {
  const [counted] = await ctx.db
    .select({ total: count() })
    .from(agents)
    .where(and(eq(agents.board_id, board_id), eq(agents.is_board_lead, false)));
  if (counted!.total >= max_agents)
    throw new DomainError("conflict", `Board has reached its agent limit (max_agents=${max_agents}, excluding the lead).`);
}

export const agentNameTaken = () => new DomainError("conflict", "An agent with this name already exists on this board.");
const leadTaken = () => new DomainError("conflict", "Board already has a lead agent.");

/** The options that all lists of agents have in common. */
export const agentListOptions = {
  table: agents,
  columns: getTableColumns(agents),
  large: LARGE_AGENT_FIELDS,
  order: newestFirst(agents),
  words: agentWords(agents),
};
const boardOfAgent = { table: boards, on: eq(boards.id, agents.board_id), optional: true };
const gatewayOfAgent = { table: gateways, on: eq(gateways.id, agents.gateway_id) };
const agentList = listOf({ ...agentListOptions, name: "agents", joins: [gatewayOfAgent, boardOfAgent] });

/** Lists the agents of boards that the caller may read, and the main agents of the organization's gateways, newest first. */
export async function listAgents(ctx: Context<Admin>, query: AgentQuery): Promise<Page<AgentRead>> {
  const { organization_id } = ctx.actor.active;
  const { board_id, gateway_id, q } = query;
  if (board_id) await boardFor(ctx, board_id, "read");
  if (gateway_id) await requireOwnGateway(ctx, gateway_id);
  const isMain = isNull(agents.board_id);
  return agentList.read(ctx, query, {
    owner: organization_id,
    filters: [
      orFilter(
        readableBoards(ctx.actor),
        filterBy("main_of", organization_id, (id) => and(isMain, eq(gateways.organization_id, id))!),
      ),
      filterBy("board_id", board_id, (id) => eq(agents.board_id, id)),
      filterBy("gateway_id", gateway_id, (id) => or(eq(boards.gateway_id, id), and(isMain, eq(agents.gateway_id, id)))!),
    ],
    ...(q === undefined ? {} : { search_owners: await listGatewayIds(ctx) }),
    toItem: (row) => toAgent(row, ctx.now()),
  });
}

async function listGatewayIds(ctx: Context<Admin>): Promise<string[]> {
  const { organization_id } = ctx.actor.active;
  const rows = await ctx.db.select({ id: gateways.id }).from(gateways).where(eq(gateways.organization_id, organization_id));
  return rows.map(({ id }) => id);
}

export const getAgent = async (ctx: Context<Admin>, agent_id: string): Promise<AgentRead> =>
  toAgent((await readableAgent(ctx, agent_id)).agent, ctx.now());

export function toAgent(row: AgentRow, now: Date): AgentRead {
  return {
    id: row.id,
    gateway_id: row.gateway_id,
    board_id: row.board_id,
    name: row.name,
    status: displayStatus(row, now),
    is_board_lead: row.is_board_lead,
    is_gateway_main: row.board_id === null,
    openclaw_session_id: row.openclaw_session_id,
    last_seen_at: row.last_seen_at?.toISOString() ?? null,
    heartbeat_config: row.heartbeat_config,
    identity_profile: row.identity_profile,
    identity_template: row.identity_template,
    soul_template: row.soul_template,
    last_provision_error: row.last_provision_error,
    requests_per_minute: row.requests_per_minute,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
