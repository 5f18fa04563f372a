import { and, eq, isNull } from "drizzle-orm";
import { type BoardRow, boardFor } from "../access.ts";
import type { Admin, Lead } from "../actor.ts";
import { newEvents } from "../activity/activity.ts";
import { boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { DomainError, notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import { releaseAgent } from "../task/release-agent.ts";
import { agents } from "./agent.sql.ts";
import { enqueueCleanup } from "./cleanup.ts";
import { agentForIfAny, findAgentOn, type Hosted, holdAgent, isThere } from "./lookup.ts";

/** Removes an agent, a main agent too. One that is not there is removed already. */
export async function removeAgent(ctx: Context<Admin>, agent_id: string): Promise<void> {
  await removeFound(ctx, () => agentForIfAny(ctx, agent_id));
}

/** The same by the lead of its board, who may remove neither leads nor main agents. */
export async function removeBoardAgent(ctx: Context<Lead>, board_id: string, agent_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await removeFound(ctx, () => subordinateOn(ctx, board, agent_id));
}

async function subordinateOn(ctx: Context<Lead>, board: BoardRow, agent_id: string): Promise<Hosted | null> {
  const found = await findAgentOn(ctx, board, agent_id);
  if (found?.agent.is_board_lead) throw new DomainError("forbidden", "Board leads cannot delete a board lead");
  if (found) return found;
  if (await isMain(ctx, board, agent_id)) throw new DomainError("forbidden", "Board leads cannot delete a gateway main agent");
  if (await isThere(ctx, agent_id)) throw notFound();
  return null;
}

async function isMain(ctx: Context, { organization_id }: BoardRow, agent_id: string): Promise<boolean> {
  const [main] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.id, agent_id), isNull(agents.board_id), eq(gateways.organization_id, organization_id)));
  return main !== undefined;
}

/** Looks again when the agent was moved between the look and the lock: who may remove it can have changed with its board. */
async function removeFound(ctx: Context<Admin | Lead>, find: () => Promise<Hosted | null>): Promise<void> {
  for (let found = await find(); found && !(await remove(ctx, found)); found = await find());
}

/**
 * The host forgets the agent by a job of the same transaction (contract agents.md §7). What it said and asked for stays,
 * without its name. False when it is not as it was found.
 */
function remove(ctx: Context<Admin | Lead>, found: Hosted): Promise<boolean> {
  return transactionGivingWay(ctx, async (ctx) => {
    await keepBoard(ctx, found);
    const held = await holdAgent(ctx, found);
    if (!held) return false;
    const { agent, gateway } = held;
    const { organization_id } = gateway;
    await releaseAgent(ctx, { id: agent.id, organization_id });
    await writeTogether(ctx, [
      newEvents(ctx, [{ event_type: "agent.delete.direct", organization_id, board_id: agent.board_id, ...deletion(ctx, agent) }]),
      ctx.db.delete(agents).where(and(eq(agents.id, agent.id), eq(agents.gateway_id, gateway.id))),
    ]);
    await enqueueCleanup(ctx, gateway, agent, { gateway_stays: true });
    return true;
  });
}

/** The event names no agent in its own column: the one that it tells of is gone. */
const deletion = ({ actor }: Context<Admin | Lead>, { name }: { name: string }) =>
  actor.type === "user"
    ? { user_id: actor.user_id, message: `Agent deleted: ${name}.` }
    : { message: `Agent deleted by ${actor.name}: ${name}.` };

/** Whoever removes a board takes it before what is on it. */
async function keepBoard(ctx: Context, { agent: { board_id }, gateway: { organization_id } }: Hosted): Promise<void> {
  if (board_id === null) return;
  const own = and(eq(boards.id, board_id), eq(boards.organization_id, organization_id));
  await ctx.db.select({ id: boards.id }).from(boards).where(own).for("key share");
}
