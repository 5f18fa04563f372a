import { and, eq, isNull } from "drizzle-orm";
import { type BoardRow, boardFor } from "../organization/access.ts";
import type { Admin, Lead } from "../context/actor.ts";
import { insertEvents } from "../activity/activity.ts";
import type { Context } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { gateways } from "../schema/gateway.sql.ts";
import { unassignAgent } from "../task/unassign-agent.ts";
import { agents } from "../schema/agent.sql.ts";
import { enqueueCleanup } from "./jobs.ts";
import { findAgentFor, findBoardAgent, type HostedAgent, lockBoardRow, lockHostedAgent, hasAgent } from "./lookup.ts";
import { recordAudit } from "../audit/record.ts";

/** Removes an agent, which may be a main agent. Does nothing if there is no such agent. */
export async function removeAgent(ctx: Context<Admin>, agent_id: string): Promise<void> {
  await removeWithRetry(ctx, () => findAgentFor(ctx, agent_id));
}

/** Removes an agent on behalf of the lead of its board, who may remove neither leads nor main agents. */
export async function removeBoardAgent(ctx: Context<Lead>, board_id: string, agent_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await removeWithRetry(ctx, () => findRemovableAgent(ctx, board, agent_id));
}

async function findRemovableAgent(ctx: Context<Lead>, board: BoardRow, agent_id: string): Promise<HostedAgent | null> {
  const found = await findBoardAgent(ctx, board, agent_id);
  if (found?.agent.is_board_lead) throw new DomainError("forbidden", "Board leads cannot delete a board lead");
  if (found) return found;
  if (await isMainAgent(ctx, board, agent_id))
    throw new DomainError("forbidden", "Board leads cannot delete a gateway main agent");
  if (await hasAgent(ctx, agent_id)) throw notFound();
  return null;
}

async function isMainAgent(ctx: Context, { organization_id }: BoardRow, agent_id: string): Promise<boolean> {
  const [main] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .innerJoin(gateways, eq(gateways.id, agents.gateway_id))
    .where(and(eq(agents.id, agent_id), isNull(agents.board_id), eq(gateways.organization_id, organization_id)));
  return main !== undefined;
}

/**
 * Removes the agent. An agent that moved before it was locked is looked up again, because its new board decides who may remove
 * it.
 */
async function removeWithRetry(ctx: Context<Admin | Lead>, find: () => Promise<HostedAgent | null>): Promise<void> {
  for (let found = await find(); found && !(await removeIfUnmoved(ctx, found)); found = await find());
}

/**
 * Deletes the agent and enqueues its removal from the host (docs/reference/agents.md#removing-an-agent). Its comments and approvals
 * are kept, without the agent's id. Returns false if the agent was moved or removed before it was locked.
 */
function removeIfUnmoved(ctx: Context<Admin | Lead>, found: HostedAgent): Promise<boolean> {
  return withLockTimeoutRetry(ctx, async (ctx) => {
    await lockBoardRow(ctx, found);
    const locked = await lockHostedAgent(ctx, found);
    if (!locked) return false;
    const { agent, gateway } = locked;
    const { organization_id } = gateway;
    await unassignAgent(ctx, { id: agent.id, organization_id });
    await runBatch(ctx, [
      insertEvents([
        { event_type: "agent.delete.direct", organization_id, board_id: agent.board_id, ...toDeletionEvent(ctx, agent) },
      ]),
      ctx.db.delete(agents).where(and(eq(agents.id, agent.id), eq(agents.gateway_id, gateway.id))),
    ]);
    await enqueueCleanup(ctx, gateway, agent);
    await recordAudit(ctx, "agent.removed", { organization_id, target: agent, before: { board_id: agent.board_id } });
    return true;
  });
}

/** Returns the fields of the event. There is no `agent_id`, because the row of the agent is deleted. */
const toDeletionEvent = ({ actor }: Context<Admin | Lead>, { name }: { name: string }) =>
  actor.type === "user"
    ? { user_id: actor.user_id, message: `Agent deleted: ${name}.` }
    : { message: `Agent deleted by ${actor.name}: ${name}.` };
