import type { Admin } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { notFound } from "@board/core/values/errors";
import { getGatewayRow } from "@board/core/gateway/target";
import { LIMITS, syncInline } from "./inline.ts";
import { skipSync } from "./skip.ts";
import { findRun, listRunAgents, startRun } from "./run.ts";
import type { SyncQuery, TemplateSyncResult, TemplateSyncRun } from "./result.ts";
import { toRun } from "./run-result.ts";

/** Starts a template sync that jobs carry out, and returns its run. Without a host it returns the result at once. */
export async function startSync(
  ctx: Context<Admin>,
  gateway_id: string,
  query: SyncQuery,
): Promise<TemplateSyncResult | TemplateSyncRun> {
  const gateway = await getGatewayRow(ctx, gateway_id);
  const options = { ...query, user_id: ctx.actor.user_id };
  if (gateway.kind === "pull") return skipSync(ctx, gateway, options);
  return toRun(await startRun(ctx, gateway, { cause: "request", options }), []);
}

export async function getSyncRun(ctx: Context<Admin>, gateway_id: string, run_id: string): Promise<TemplateSyncRun> {
  await getGatewayRow(ctx, gateway_id);
  const run = await findRun(ctx, gateway_id, run_id);
  if (!run) throw notFound();
  return toRun(run, await listRunAgents(ctx, run_id));
}

/**
 * Syncs the templates of a gateway (docs/reference/gateways.md#template-sync). Returns the result if it is complete in
 * time, else the run that continues in jobs.
 */
export async function syncTemplates(
  ctx: Context<Admin>,
  gateway_id: string,
  query: SyncQuery,
  limits = LIMITS,
): Promise<TemplateSyncResult | TemplateSyncRun> {
  const gateway = await getGatewayRow(ctx, gateway_id);
  const options = { ...query, user_id: ctx.actor.user_id };
  if (gateway.kind === "pull") return skipSync(ctx, gateway, options);
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limits.answer_ms);
  try {
    return await syncInline(ctx, gateway, options, { limits, signal: controller.signal });
  } finally {
    clearTimeout(timer);
  }
}
