import { and, eq, sql } from "drizzle-orm";
import { markSynced } from "@board/core/agent/sync-state";
import type { Context } from "@board/core/context/context";
import { rowsOf } from "@board/core/db/database";
import { createJobs } from "@board/core/job/claim";
import { enqueue } from "@board/core/job/job";
import type { TemplateSubject } from "../template/template-data.ts";
import { endRun, type RunAgentRow } from "./run.ts";
import { sync_run_agents, sync_runs } from "@board/core/schema/sync.sql";

/** The outcome of a sync for one agent. */
export interface AgentSyncOutcome {
  status: "success" | "error";
  error: string | null;
  warnings: string[];
  files_written: number;
}

export interface AgentResult {
  run_agent_id: string;
  outcome: AgentSyncOutcome;
  /** The agent, with the lifecycle generation for which its files were written. */
  agent: { id: string; lifecycle_generation: number } | null;
}

export const toFailedOutcome = (error: string): AgentSyncOutcome => ({ status: "error", error, warnings: [], files_written: 0 });

/** The error of agents that were not processed, because the host became unreachable. */
export const NOT_PROCESSED_ERROR = "not processed: gateway unreachable";

/** The error of an agent that was deleted, or moved to another host, while the run was in progress. */
export const AGENT_GONE_ERROR = "The agent was removed or moved in the meantime.";

export const toAgentResult = (run_agent_id: string, outcome: AgentSyncOutcome, subject?: TemplateSubject): AgentResult => ({
  run_agent_id,
  outcome,
  agent: subject ? { id: subject.agent.id, lifecycle_generation: subject.agent.lifecycle_generation } : null,
});

/** Locks a run until the transaction ends. Returns false when the run has ended already. */
async function lockOpenRun(ctx: Context, run_id: string): Promise<boolean> {
  const open = and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running"));
  const [run] = await ctx.db.select({ id: sync_runs.id }).from(sync_runs).where(open).for("no key update");
  return run !== undefined;
}

/**
 * Records each agent's outcome once, in the transaction that ends the agent's job. After a run's last outcome it creates the job
 * that finishes the run. With `finish_job_id` it then returns true, and the caller must run that job itself.
 */
export async function recordAgentResults(
  ctx: Context,
  { run_id, gateway_id, organization_id }: { run_id: string; gateway_id: string; organization_id: string },
  results: readonly AgentResult[],
  finish_job_id?: string,
): Promise<boolean> {
  // Agents are locked before rows of the run, in the same order as when an agent is removed, to avoid a deadlock.
  const synced = results.flatMap(({ outcome, agent }) => (outcome.status === "success" && agent ? [agent] : []));
  await markSynced(ctx, gateway_id, synced);
  if (!(await lockOpenRun(ctx, run_id))) return false;
  const rows_json = JSON.stringify(results.map(({ run_agent_id, outcome }) => ({ id: run_agent_id, ...outcome })));
  const updated = await ctx.db.execute(sql`
    update ${sync_run_agents} as agent
    set status = result.status, error = result.error, warnings = result.warnings, files_written = result.files_written
    from jsonb_to_recordset(${rows_json}::jsonb)
      as result(id uuid, status text, error text, warnings jsonb, files_written int)
    where agent.id = result.id and agent.run_id = ${run_id} and agent.status = 'waiting' returning agent.id`);
  if (rowsOf(updated).length === 0 || (await hasWaitingAgents(ctx, run_id))) return false;
  const owner = { organization_id, gateway_id };
  if (finish_job_id === undefined) {
    await enqueue(ctx, "sync.finish", { run_id }, { ...owner, lane: gateway_id, dedupe_key: `sync.finish/${run_id}` });
    return false;
  }
  await createJobs(ctx, "sync.finish", [{ id: finish_job_id, lane: gateway_id, payload: { run_id }, secret: null }], {
    ...owner,
    queued: false,
  });
  return true;
}

const isWaitingIn = (run_id: string) => and(eq(sync_run_agents.run_id, run_id), eq(sync_run_agents.status, "waiting"));

async function hasWaitingAgents(ctx: Context, run_id: string): Promise<boolean> {
  const [row] = await ctx.db.select({ id: sync_run_agents.id }).from(sync_run_agents).where(isWaitingIn(run_id)).limit(1);
  return row !== undefined;
}

/** Finds an agent of a run. Returns null when its outcome is already recorded. */
export async function findWaitingAgent(ctx: Context, run_id: string, id: string): Promise<RunAgentRow | null> {
  const [row] = await ctx.db
    .select()
    .from(sync_run_agents)
    .where(and(isWaitingIn(run_id), eq(sync_run_agents.id, id)));
  return row ?? null;
}

/** Lists the agents of a run whose outcome is not recorded yet. */
export async function listWaitingAgentIds(ctx: Context, run_id: string): Promise<Set<string>> {
  const rows = await ctx.db.select({ id: sync_run_agents.id }).from(sync_run_agents).where(isWaitingIn(run_id));
  return new Set(rows.map(({ id }) => id));
}

/** Ends a run whose host is unreachable: agents without an outcome count as not processed. */
export async function abortRun(ctx: Context, run_id: string): Promise<void> {
  if (!(await lockOpenRun(ctx, run_id))) return;
  await ctx.db.update(sync_run_agents).set({ status: "error", error: NOT_PROCESSED_ERROR }).where(isWaitingIn(run_id));
  await endRun(ctx, run_id, { errors: [], warnings: [] });
}
