import { and, eq } from "drizzle-orm";
import type { Admin } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { LIMITS, syncInTime } from "./in-time.ts";
import { findRun, readRunAgents, startRun } from "./run.ts";
import { type SyncQuery, type TemplateSyncResult, type TemplateSyncRun, toRun } from "./sync-result.ts";

/** The caller's gateway, or not found. */
export async function requireGateway(ctx: Context<Admin>, gateway_id: string): Promise<GatewayRow> {
  const own = and(eq(gateways.id, gateway_id), eq(gateways.organization_id, ctx.actor.active.organization_id));
  const [gateway] = await ctx.db.select().from(gateways).where(own);
  if (!gateway) throw notFound();
  return gateway;
}

/** Has the templates of a gateway synced by jobs; returns the run that does it. */
export async function startSync(ctx: Context<Admin>, gateway_id: string, query: SyncQuery): Promise<TemplateSyncRun> {
  const gateway = await requireGateway(ctx, gateway_id);
  const options = { ...query, user_id: ctx.actor.user_id };
  return toRun(await startRun(ctx, gateway, { cause: "request", options }), []);
}

export async function getSyncRun(ctx: Context<Admin>, gateway_id: string, run_id: string): Promise<TemplateSyncRun> {
  await requireGateway(ctx, gateway_id);
  const run = await findRun(ctx, gateway_id, run_id);
  if (!run) throw notFound();
  return toRun(run, await readRunAgents(ctx, run_id));
}

/**
 * Syncs the templates of a gateway (contract gateways.md §12): the result of hosts that answer in time, else the run that
 * goes on with what is left.
 */
export async function syncTemplates(
  ctx: Context<Admin>,
  gateway_id: string,
  query: SyncQuery,
  limits = LIMITS,
): Promise<TemplateSyncResult | TemplateSyncRun> {
  const gateway = await requireGateway(ctx, gateway_id);
  const options = { ...query, user_id: ctx.actor.user_id };
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), limits.answer_ms);
  try {
    return await syncInTime(ctx, gateway, options, { limits, signal: over.signal });
  } finally {
    clearTimeout(timer);
  }
}
