import { and, asc, eq, getTableColumns, inArray, lt, sql } from "drizzle-orm";
import type { PgUpdateSetSource } from "drizzle-orm/pg-core";
import { agents } from "../agent/agent.sql.ts";
import { type Context, transaction } from "../context.ts";
import { gateways } from "../gateway/gateway.sql.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { storeJobs } from "../job/batch.ts";
import { enqueue } from "../job/job.ts";
import type { SyncTarget } from "./selection.ts";
import { errorOf, type SyncError, type SyncQuery, type SyncWarning } from "./sync-result.ts";
import { sync_run_agents, sync_runs } from "./sync.sql.ts";

/** What was asked for, and whose profile the files show; null for the oldest owner's. */
export type RunOptions = SyncQuery & { user_id: string | null };

export type RunRow = Omit<typeof sync_runs.$inferSelect, "options" | "errors" | "warnings"> & {
  options: RunOptions;
  errors: SyncError[];
  warnings: SyncWarning[];
};
export type RunAgentRow = typeof sync_run_agents.$inferSelect;

/** What concerns all agents of a run. */
export interface Findings {
  errors: SyncError[];
  warnings: SyncWarning[];
}

const KEEP_MS = 7 * 86_400_000;

/** A new run, in the caller's transaction. */
export async function insertRun(
  ctx: Context,
  gateway: GatewayRow,
  { cause, options, errors = [] }: { cause: RunRow["cause"]; options: RunOptions; errors?: SyncError[] },
): Promise<RunRow> {
  const [run] = await ctx.db.insert(sync_runs).values({ gateway_id: gateway.id, cause, options, errors }).returning();
  return run as RunRow;
}

/** A run that goes on by itself: a job finds out what there is to do. */
export function startRun(
  ctx: Context,
  gateway: GatewayRow,
  { cause, options }: { cause: RunRow["cause"]; options: RunOptions },
): Promise<RunRow> {
  return transaction(ctx, async (ctx) => {
    const run = await insertRun(ctx, gateway, { cause, options });
    const { id: gateway_id, organization_id } = gateway;
    await enqueue(ctx, "sync.start", { run_id: run.id }, { organization_id, gateway_id });
    return run;
  });
}

/**
 * Adds the agents of a run with a job each, in their order; `queued` has the jobs relayed. Agents that were removed in the
 * meantime are left out; returns the others.
 */
export async function addAgents(
  ctx: Context,
  { run_id, gateway, queued }: { run_id: string; gateway: GatewayRow; queued: boolean },
  targets: readonly SyncTarget[],
): Promise<SyncTarget[]> {
  const there = await keepAgents(
    ctx,
    targets.map(({ agent }) => agent.id),
  );
  const kept = targets.filter(({ agent }) => there.has(agent.id));
  if (kept.length === 0) return [];
  await ctx.db.insert(sync_run_agents).values(
    kept.map(({ run_agent_id, agent, is_main }, position) => ({
      id: run_agent_id,
      run_id,
      agent_id: agent.id,
      agent_name: agent.name,
      board_id: agent.board_id,
      is_main,
      position,
    })),
  );
  const list = kept.map(({ job_id, run_agent_id, lane, first, token }) => ({
    id: job_id,
    lane,
    payload: { run_id, run_agent_id, first },
    secret: token,
  }));
  const { id: gateway_id, organization_id } = gateway;
  await storeJobs(ctx, "sync.agent", list, { organization_id, gateway_id, queued });
  return kept;
}

/** The agents that are still there, and stay so until the transaction ends. */
async function keepAgents(ctx: Context, ids: string[]): Promise<Set<string>> {
  const rows = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(inArray(agents.id, ids))
    .orderBy(asc(agents.id))
    .for("key share");
  return new Set(rows.map(({ id }) => id));
}

/** The run with its gateway, while something is still to happen in it. */
export async function findOpenRun(ctx: Context, run_id: string): Promise<{ run: RunRow; gateway: GatewayRow } | null> {
  const [found] = await ctx.db
    .select({ run: getTableColumns(sync_runs), gateway: getTableColumns(gateways) })
    .from(sync_runs)
    .innerJoin(gateways, eq(gateways.id, sync_runs.gateway_id))
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running")));
  return (found as { run: RunRow; gateway: GatewayRow } | undefined) ?? null;
}

export async function findRun(ctx: Context, gateway_id: string, run_id: string): Promise<RunRow | null> {
  const [run] = await ctx.db
    .select()
    .from(sync_runs)
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.gateway_id, gateway_id)));
  return (run as RunRow | undefined) ?? null;
}

export const readRunAgents = (ctx: Context, run_id: string): Promise<RunAgentRow[]> =>
  ctx.db.select().from(sync_run_agents).where(eq(sync_run_agents.run_id, run_id)).orderBy(asc(sync_run_agents.position));

/** Ends a run, with what concerns all of its agents. */
export async function endRun(ctx: Context, run_id: string, findings: Findings): Promise<void> {
  const finished_at = ctx.now();
  const ended = await change(ctx, run_id, { status: "done", finished_at, ...added(findings) });
  // Begun by the database's clock: never negative.
  for (const run of ended) ctx.meter.record("SyncDuration", Math.max(0, finished_at.getTime() - run.created_at.getTime()));
}

/** Notes what concerns all agents of a run that goes on. */
export async function noteFindings(ctx: Context, run_id: string, findings: Findings): Promise<void> {
  await change(ctx, run_id, added(findings));
}

const added = ({ errors, warnings }: Findings) => ({
  errors: sql`${sync_runs.errors} || ${JSON.stringify(errors)}::jsonb`,
  warnings: sql`${sync_runs.warnings} || ${JSON.stringify(warnings)}::jsonb`,
});

/** Returns the run while it was open, else nothing. */
async function change(ctx: Context, run_id: string, values: PgUpdateSetSource<typeof sync_runs>) {
  return ctx.db
    .update(sync_runs)
    .set(values)
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running")))
    .returning({ created_at: sync_runs.created_at });
}

/** Ends a run that came to nothing. */
export const failRun = (ctx: Context, run_id: string, error: string): Promise<void> =>
  endRun(ctx, run_id, { errors: [errorOf(error)], warnings: [] });

/** Removes runs that nobody will ask for any more. */
export async function removeOldRuns(ctx: Context): Promise<void> {
  await ctx.db.delete(sync_runs).where(lt(sync_runs.created_at, new Date(ctx.now().getTime() - KEEP_MS)));
}
