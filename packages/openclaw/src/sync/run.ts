import { and, asc, eq, getTableColumns, sql } from "drizzle-orm";
import type { PgUpdateSetSource } from "drizzle-orm/pg-core";
import { agents } from "@board/core/schema/agent.sql";
import { type Context, transaction } from "@board/core/context/context";
import { gateways } from "@board/core/schema/gateway.sql";
import type { GatewayRow } from "@board/core/gateway/target";
import { prepareRowsInsert, runWrite } from "@board/core/db/prepared-write";
import { createJobs } from "@board/core/job/claim";
import { enqueue } from "@board/core/job/job";
import type { SyncTarget } from "./selection.ts";
import { toSyncError, type SyncError, type SyncQuery, type SyncWarning } from "./result.ts";
import { sync_run_agents, sync_runs } from "@board/core/schema/sync.sql";

/** The options of a run, and the user whose profile appears in the files. Null selects the oldest owner. */
export type RunOptions = SyncQuery & { user_id: string | null };

export type RunRow = Omit<typeof sync_runs.$inferSelect, "options" | "errors" | "warnings"> & {
  options: RunOptions;
  errors: SyncError[];
  warnings: SyncWarning[];
};
export type RunAgentRow = typeof sync_run_agents.$inferSelect;

/** Errors and warnings that concern the run as a whole. */
export interface Findings {
  errors: SyncError[];
  warnings: SyncWarning[];
}

/** Stores a new run in the caller's transaction. */
export async function createRun(
  ctx: Context,
  gateway: GatewayRow,
  { cause, options, errors = [] }: { cause: RunRow["cause"]; options: RunOptions; errors?: SyncError[] },
): Promise<RunRow> {
  const [run] = await ctx.db.insert(sync_runs).values({ gateway_id: gateway.id, cause, options, errors }).returning();
  return run as RunRow;
}

/** Stores a run that jobs carry out. Its first job selects the agents. */
export function startRun(
  ctx: Context,
  gateway: GatewayRow,
  { cause, options }: { cause: RunRow["cause"]; options: RunOptions },
): Promise<RunRow> {
  return transaction(ctx, async (ctx) => {
    const run = await createRun(ctx, gateway, { cause, options });
    const { id: gateway_id, organization_id } = gateway;
    await enqueue(ctx, "sync.start", { run_id: run.id }, { organization_id, gateway_id });
    return run;
  });
}

/**
 * Adds the agents of a run in their order, each with a job. With `queued`, the relay sends the wake-ups of the jobs. Skips agents
 * that were deleted since their selection, and returns the added agents.
 */
export async function addRunAgents(
  ctx: Context,
  { run_id, gateway, queued }: { run_id: string; gateway: GatewayRow; queued: boolean },
  targets: readonly SyncTarget[],
): Promise<SyncTarget[]> {
  const existing = await lockExistingAgents(
    ctx,
    targets.map(({ agent }) => agent.id),
  );
  const kept = targets.filter(({ agent }) => existing.has(agent.id));
  if (kept.length === 0) return [];
  const rows = kept.map(({ run_agent_id, agent, is_main }, position) => ({
    id: run_agent_id,
    run_id,
    agent_id: agent.id,
    agent_name: agent.name,
    board_id: agent.board_id,
    is_main,
    position,
  }));
  await runWrite(ctx, insertRunAgents(rows));
  const list = kept.map(({ job_id, run_agent_id, lane, first, token }) => ({
    id: job_id,
    lane,
    payload: { run_id, run_agent_id, first },
    secret: token,
  }));
  const { id: gateway_id, organization_id } = gateway;
  await createJobs(ctx, "sync.agent", list, { organization_id, gateway_id, queued });
  return kept;
}

const insertRunAgents = prepareRowsInsert("agents of a sync run", sync_run_agents, [
  "id",
  "run_id",
  "agent_id",
  "agent_name",
  "board_id",
  "is_main",
  "position",
]);

/** Locks the agents that still exist until the transaction ends, and returns their ids. */
async function lockExistingAgents(ctx: Context, ids: string[]): Promise<Set<string>> {
  const rows = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(sql`${agents.id} = any(${sql.param(ids)}::uuid[])`)
    .orderBy(asc(agents.id))
    .for("key share");
  return new Set(rows.map(({ id }) => id));
}

/** Finds a run that has not ended, with its gateway. Returns null when the run has ended. */
export async function findOpenRun(ctx: Context, run_id: string): Promise<{ run: RunRow; gateway: GatewayRow } | null> {
  const [row] = await ctx.db
    .select({ run: getTableColumns(sync_runs), gateway: getTableColumns(gateways) })
    .from(sync_runs)
    .innerJoin(gateways, eq(gateways.id, sync_runs.gateway_id))
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running")));
  return (row as { run: RunRow; gateway: GatewayRow } | undefined) ?? null;
}

export async function findRun(ctx: Context, gateway_id: string, run_id: string): Promise<RunRow | null> {
  const [run] = await ctx.db
    .select()
    .from(sync_runs)
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.gateway_id, gateway_id)));
  return (run as RunRow | undefined) ?? null;
}

export const listRunAgents = (ctx: Context, run_id: string): Promise<RunAgentRow[]> =>
  ctx.db.select().from(sync_run_agents).where(eq(sync_run_agents.run_id, run_id)).orderBy(asc(sync_run_agents.position));

/** Ends a run and appends the findings. */
export async function endRun(ctx: Context, run_id: string, findings: Findings): Promise<void> {
  const finished_at = ctx.now();
  const ended = await updateOpenRun(ctx, run_id, { status: "done", finished_at, ...toAppended(findings) });
  // `created_at` comes from the database's clock and `finished_at` from this process, so the difference could be negative.
  for (const run of ended) ctx.meter.record("SyncDuration", Math.max(0, finished_at.getTime() - run.created_at.getTime()));
}

/** Appends findings to a run that continues. */
export async function appendFindings(ctx: Context, run_id: string, findings: Findings): Promise<void> {
  await updateOpenRun(ctx, run_id, toAppended(findings));
}

const toAppended = ({ errors, warnings }: Findings) => ({
  errors: sql`${sync_runs.errors} || ${JSON.stringify(errors)}::jsonb`,
  warnings: sql`${sync_runs.warnings} || ${JSON.stringify(warnings)}::jsonb`,
});

/** Updates a run unless it has ended. Returns its creation time in a list, which is empty if the run has ended. */
async function updateOpenRun(ctx: Context, run_id: string, values: PgUpdateSetSource<typeof sync_runs>) {
  return ctx.db
    .update(sync_runs)
    .set(values)
    .where(and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running")))
    .returning({ created_at: sync_runs.created_at });
}

/** Ends a run with an error that concerns the whole run. */
export const failRun = (ctx: Context, run_id: string, error: string): Promise<void> =>
  endRun(ctx, run_id, { errors: [toSyncError(error)], warnings: [] });
