import { and, eq, inArray } from "drizzle-orm";
import * as z from "zod";
import { insertEvents } from "../activity/activity.ts";
import { recordAudit } from "../audit/record.ts";
import type { Admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import type { JobKind } from "../job/kinds.ts";
import { agents } from "../schema/agent.sql.ts";
import { changedNow } from "../schema/columns.ts";
import { jobs } from "../schema/job.sql.ts";
import { run_tokens } from "../schema/run-token.sql.ts";
import { runs } from "../schema/run.sql.ts";
import { hostLane } from "../values/session-key.ts";
import { Id, lazyObject } from "../values/wire.ts";
import type { AgentRow } from "./agent.ts";
import { enqueueProvision, enqueueUpdate } from "./jobs.ts";
import { agentFor, type HostedAgent, lockBoardRow, lockHostedAgent } from "./lookup.ts";
import { createToken, toStoredToken, tokenLookup } from "./token.ts";

export const AgentToken = lazyObject(() => ({
  agent_id: Id.describe("Id of the agent."),
  auth_token: z
    .string()
    .nullable()
    .describe(
      "The new token. It is returned only once, here; null for an agent on a host, whose files get it, and in the repeated answer to a request with Idempotency-Key.",
    ),
})).meta({ id: "AgentToken", description: "The new token of an agent." });
export type AgentToken = z.infer<typeof AgentToken>;

/**
 * Gives an agent a new token. The old token and the tokens of the agent's runs stop working at once in all processes, because
 * each request and each poll of a stream looks the token up. If the agent has a host, a job writes the new token there.
 */
export async function rotateAgentToken(ctx: Context<Admin>, agent_id: string): Promise<AgentToken> {
  for (;;) {
    const found = await agentFor(ctx, agent_id);
    const { auth_token, stored } = await createToken(ctx.settings.token_pepper);
    const row = await withLockTimeoutRetry(ctx, async (ctx) => {
      await lockBoardRow(ctx, found);
      const locked = await lockHostedAgent(ctx, found);
      return locked && replaceStoredToken(ctx, locked, { auth_token, ...stored });
    });
    // If no row is returned, the agent was moved or removed before it was locked. The next pass checks access again.
    if (row) return { agent_id, auth_token: row.openclaw_session_id === null ? auth_token : null };
  }
}

async function replaceStoredToken(
  ctx: Context<Admin>,
  { agent, gateway }: HostedAgent,
  { auth_token, ...stored }: { auth_token: string; agent_token_hash: string; agent_token_lookup: string },
): Promise<AgentRow> {
  const { organization_id } = gateway;
  const { user_id } = ctx.actor;
  // A job of the previous generation may contain an older token and store it again. The new generation makes such jobs obsolete.
  const lifecycle_generation = agent.lifecycle_generation + 1;
  const row = { ...agent, ...stored, lifecycle_generation };
  const runsOfAgent = ctx.db.select({ id: runs.id }).from(runs).where(eq(runs.agent_id, agent.id));
  await runBatch(ctx, [
    ctx.db
      .update(agents)
      .set({ ...stored, lifecycle_generation, ...changedNow })
      .where(and(eq(agents.id, agent.id), eq(agents.gateway_id, gateway.id))),
    ctx.db.delete(run_tokens).where(inArray(run_tokens.run_id, runsOfAgent)),
    insertEvents([
      {
        event_type: "agent.token.rotated",
        organization_id,
        board_id: agent.board_id,
        agent_id: agent.id,
        user_id,
        message: `Token of ${agent.name} replaced.`,
      },
    ]),
  ]);
  const isMain = agent.board_id === null;
  if (await isProvisioning(ctx, agent))
    await enqueueProvision(ctx, row, { organization_id, user_id, reset: !isMain, deliver: isMain, auth_token });
  else await enqueueUpdate(ctx, row, { organization_id, user_id, reset: true, auth_token });
  await recordAudit(ctx, "agent.token_rotated", { organization_id, target: agent });
  return row;
}

/** Returns whether a job that would create the agent on its host is open. The new generation makes such a job obsolete. */
async function isProvisioning(ctx: Context, { gateway_id, openclaw_session_id }: AgentRow): Promise<boolean> {
  if (!openclaw_session_id) return false;
  const isOpen = and(
    eq(jobs.lane, hostLane(gateway_id, openclaw_session_id)),
    eq(jobs.kind, "agent.provision" satisfies JobKind),
    inArray(jobs.status, ["queued", "running"]),
  );
  const [job] = await ctx.db.select({ id: jobs.id }).from(jobs).where(isOpen).limit(1);
  return job !== undefined;
}

/** Thrown when the work for an agent is obsolete, because the agent was removed or has a later generation. */
export class Superseded extends Error {
  constructor() {
    super("The agent was removed or moved in the meantime.");
    this.name = "Superseded";
  }
}

/**
 * Replaces the token of an agent of this organization. Call it once the host has the new token, because the old token stops
 * working. Nothing is written if the token is already stored. Throws Superseded if the agent no longer has this generation.
 */
export async function replaceToken(
  ctx: Context,
  organization_id: string,
  { id, lifecycle_generation }: { id: string; lifecycle_generation: number },
  token: string,
): Promise<void> {
  const current = and(eq(agents.id, id), eq(agents.lifecycle_generation, lifecycle_generation));
  const [stored] = await ctx.db.select({ lookup: agents.agent_token_lookup }).from(agents).where(current);
  if (!stored) throw new Superseded();
  if (stored.lookup === tokenLookup(ctx.settings.token_pepper, token)) return;
  const changes = { ...(await toStoredToken(ctx.settings.token_pepper, token)), ...changedNow };
  await transaction(ctx, async (ctx) => {
    const [replaced] = await ctx.db.update(agents).set(changes).where(current).returning({ id: agents.id, name: agents.name });
    if (!replaced) throw new Superseded();
    await recordAudit(ctx, "agent.token_rotated", { organization_id, target: replaced });
  });
}
