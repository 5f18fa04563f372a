import { eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor, boardsOfAgent } from "../organization/access.ts";
import type { Agent as AgentActor } from "../context/actor.ts";
import { recordEvent } from "../activity/activity.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { unauthenticated } from "../values/errors.ts";
import type { Page } from "../lists/page.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { type AgentQuery, AgentRead, type AgentRow, toAgent, agentListOptions } from "./agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { listOf } from "../lists/list.ts";
import { orFilter, filterBy } from "../lists/filter.ts";

export const AgentHealth = lazyObject(() => ({
  ok: z.literal(true).describe("The token is valid."),
  agent_id: Id.describe("Id of the caller."),
  board_id: Id.nullable().describe("Board of the caller; null for a main agent."),
  gateway_id: Id.describe("Gateway of the caller."),
  status: AgentRead.shape.status.describe("Stored state of the caller."),
  is_board_lead: z.boolean().describe("Whether the caller leads its board."),
})).meta({ id: "AgentHealth", description: "Who the caller is." });
export type AgentHealth = z.infer<typeof AgentHealth>;

const peerList = listOf({
  ...agentListOptions,
  name: "peer agents",
  joins: [{ table: boards, on: eq(boards.id, agents.board_id), optional: true }],
});

/** Lists the agents of the caller's board. A main agent gets the agents of all boards of its gateway, and itself. */
export async function listPeerAgents(ctx: Context<AgentActor>, query: AgentQuery): Promise<Page<AgentRead>> {
  const { agent_id, gateway_id } = ctx.actor;
  if (query.board_id) await boardFor(ctx, query.board_id, "read");
  return peerList.read(ctx, query, {
    owner: agent_id,
    filters: [
      orFilter(
        boardsOfAgent(ctx.actor),
        filterBy("agent_id", agent_id, (id) => eq(agents.id, id)),
      ),
      filterBy("of_board", query.board_id, (id) => eq(agents.board_id, id)),
    ],
    search_owners: [gateway_id],
    toItem: (row) => toAgent(row, ctx.now()),
  });
}

/** Returns who the caller is. Reads the status again, since this request may have set the agent online. */
export async function getAgentHealth(ctx: Context<AgentActor>): Promise<AgentHealth> {
  const { agent_id, board_id, gateway_id, is_board_lead } = ctx.actor;
  const { status } = await getOwnRow(ctx);
  return { ok: true, agent_id, board_id, gateway_id, status, is_board_lead };
}

/**
 * Adds a heartbeat to the activity log, at most once every 30 s. Presence is not recorded here, because authentication has done that.
 */
export async function recordHeartbeat(ctx: Context<AgentActor>): Promise<AgentRead> {
  const row = await getOwnRow(ctx);
  if (ctx.actor.newly_seen) {
    const { organization_id, board_id, agent_id, name } = ctx.actor;
    await recordEvent(ctx, "agent.heartbeat", {
      organization_id,
      board_id,
      agent_id,
      message: `Heartbeat received from ${name}.`,
    });
  }
  return toAgent(row, ctx.now());
}

const selectAgent = preparedQuery((db) =>
  db
    .select()
    .from(agents)
    .where(eq(agents.id, sql.placeholder("agent_id"))),
);

async function getOwnRow(ctx: Context<AgentActor>): Promise<AgentRow> {
  const [row] = await selectAgent(ctx.db).execute({ agent_id: ctx.actor.agent_id });
  if (!row) throw unauthenticated();
  return row;
}
