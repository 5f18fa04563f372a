import { and, eq, sql } from "drizzle-orm";
import { recordSynced } from "../agent/synced.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { storeJobs } from "../job/batch.ts";
import { enqueue } from "../job/job.ts";
import type { TemplateSubject } from "./context.ts";
import { endRun, type RunAgentRow } from "./run.ts";
import { sync_run_agents, sync_runs } from "./sync.sql.ts";

/** How it ended for one agent. */
export interface Outcome {
  status: "success" | "error";
  error: string | null;
  warnings: string[];
  files_written: number;
}

export interface Settlement {
  run_agent_id: string;
  outcome: Outcome;
  /** The agent in the life in which its files were written. */
  agent: { id: string; lifecycle_generation: number } | null;
}

export const failure = (error: string): Outcome => ({ status: "error", error, warnings: [], files_written: 0 });

/** For agents that were not taken up any more. */
export const NOT_PROCESSED = "not processed: gateway unreachable";

/** For one that is not there any more, or on another host. */
export const GONE = "The agent was removed or moved in the meantime.";

export const toSettlement = (run_agent_id: string, outcome: Outcome, subject?: TemplateSubject): Settlement => ({
  run_agent_id,
  outcome,
  agent: subject ? { id: subject.agent.id, lifecycle_generation: subject.agent.lifecycle_generation } : null,
});

/** The run, kept as it is until the transaction ends; false when nothing more may happen in it. */
async function lockOpenRun(ctx: Context, run_id: string): Promise<boolean> {
  const open = and(eq(sync_runs.id, run_id), eq(sync_runs.status, "running"));
  const [run] = await ctx.db.select({ id: sync_runs.id }).from(sync_runs).where(open).for("no key update");
  return run !== undefined;
}

/**
 * Writes how it ended for agents of a run, once each, in the transaction that ends their jobs. Whoever settles the last one
 * leaves the job that finishes the run; under the run's lock, so that it is one of them. `finish_job_id` is for those who
 * do it themselves. True when that was left to the caller.
 */
export async function settleAgents(
  ctx: Context,
  { run_id, gateway_id, organization_id }: { run_id: string; gateway_id: string; organization_id: string },
  settlements: readonly Settlement[],
  finish_job_id?: string,
): Promise<boolean> {
  // Agents before the run's rows: as when an agent is removed.
  const synced = settlements.flatMap(({ outcome, agent }) => (outcome.status === "success" && agent ? [agent] : []));
  await recordSynced(ctx, gateway_id, synced);
  if (!(await lockOpenRun(ctx, run_id))) return false;
  const ends = JSON.stringify(settlements.map(({ run_agent_id, outcome }) => ({ id: run_agent_id, ...outcome })));
  const settled = await ctx.db.execute(sql`
    update ${sync_run_agents} as one
    set status = ended.status, error = ended.error, warnings = ended.warnings, files_written = ended.files_written
    from jsonb_to_recordset(${ends}::jsonb)
      as ended(id uuid, status text, error text, warnings jsonb, files_written int)
    where one.id = ended.id and one.run_id = ${run_id} and one.status = 'waiting' returning one.id`);
  if (rowsOf(settled).length === 0 || (await hasWaiting(ctx, run_id))) return false;
  const whose = { organization_id, gateway_id };
  if (finish_job_id === undefined) {
    await enqueue(ctx, "sync.finish", { run_id }, { ...whose, lane: gateway_id, dedupe_key: `sync.finish/${run_id}` });
    return false;
  }
  await storeJobs(ctx, "sync.finish", [{ id: finish_job_id, lane: gateway_id, payload: { run_id }, secret: null }], {
    ...whose,
    queued: false,
  });
  return true;
}

const waitingOf = (run_id: string) => and(eq(sync_run_agents.run_id, run_id), eq(sync_run_agents.status, "waiting"));

async function hasWaiting(ctx: Context, run_id: string): Promise<boolean> {
  const [one] = await ctx.db.select({ id: sync_run_agents.id }).from(sync_run_agents).where(waitingOf(run_id)).limit(1);
  return one !== undefined;
}

/** An agent of a run, unless somebody has settled it. */
export async function findWaitingAgent(ctx: Context, run_id: string, id: string): Promise<RunAgentRow | null> {
  const [row] = await ctx.db
    .select()
    .from(sync_run_agents)
    .where(and(waitingOf(run_id), eq(sync_run_agents.id, id)));
  return row ?? null;
}

/** The agents of a run that nobody has settled yet. */
export async function findWaiting(ctx: Context, run_id: string): Promise<Set<string>> {
  const rows = await ctx.db.select({ id: sync_run_agents.id }).from(sync_run_agents).where(waitingOf(run_id));
  return new Set(rows.map(({ id }) => id));
}

/** Ends a run whose host is away: what is not settled by then was not processed. */
export async function stopRun(ctx: Context, run_id: string): Promise<void> {
  if (!(await lockOpenRun(ctx, run_id))) return;
  await ctx.db.update(sync_run_agents).set({ status: "error", error: NOT_PROCESSED }).where(waitingOf(run_id));
  await endRun(ctx, run_id, { errors: [], warnings: [] });
}
