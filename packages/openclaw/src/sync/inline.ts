import { setTimeout as pause } from "node:timers/promises";
import { type Context, transaction } from "@board/core/context/context";
import { notFound } from "@board/core/values/errors";
import { GatewayError } from "../wire/gateway-error.ts";
import { toGatewayMessage } from "../wire/failure.ts";
import { recordConnectivity } from "../provisioning/connectivity.ts";
import type { GatewayRow } from "@board/core/gateway/target";
import { abandonJobs, endJobs, addWaitingLanes, releaseJobs, claimJobs } from "@board/core/job/claim";
import { finalizeOnHost, listSyncedAgents, toUnfinishedFindings } from "./finalize.ts";
import { createDeadline } from "../host/deadline.ts";
import { untilAborted } from "@board/core/values/concurrency";
import { type PreparedSync, prepareSync } from "./prepare.ts";
import {
  addRunAgents,
  endRun,
  type Findings,
  findRun,
  createRun,
  listRunAgents,
  type RunOptions,
  type RunRow,
  startRun,
} from "./run.ts";
import { type AgentResult, recordAgentResults, abortRun } from "./agent-results.ts";
import { type TemplateSyncResult, type TemplateSyncRun, toSyncError } from "./result.ts";
import { toResult, toRun } from "./run-result.ts";
import { POLL_MS, type WorkProgress, processTargets } from "./worker.ts";

/** Time limits in milliseconds since the start of the request. */
export const LIMITS = {
  /** If the host cannot be contacted within this time, the sync ends with that error. */
  connect_ms: 10_000,
  /** If the host became unreachable and has not returned within this time, the sync ends. */
  host_ms: 21_000,
  /** The response is sent after this time, even if work remains, because API Gateway times out after 29 s. */
  answer_ms: 24_000,
};

/** How long calls to the host may still take effect after the response was sent. */
const IN_FLIGHT_CALL_MS = 20_000;
const IN_FLIGHT_PATCH_MS = 40_000;

/**
 * Syncs within a request. It stores a run with a job for each agent, and claims these jobs itself. When the time is over, or if
 * this process crashes, consumers do the remaining jobs.
 */
export async function syncInline(
  ctx: Context,
  gateway: GatewayRow,
  options: RunOptions,
  { limits, signal }: { limits: typeof LIMITS; signal: AbortSignal },
): Promise<TemplateSyncResult | TemplateSyncRun> {
  const deadline = createDeadline(limits.connect_ms, { signal });
  const facts = { gateway_id: gateway.id, options, warnings: [] };
  const preparing = prepareSync(ctx, gateway, options, deadline, limits.host_ms).catch(ignoreWaiting);
  const prepared = await untilAborted(preparing, signal);
  // The host was slow, or other processes held its config lock for the whole time, so jobs do all of the work.
  if (!prepared) return toRun(await startRun(ctx, gateway, { cause: "request", options }), []);
  if (prepared.problem !== null) return toResult({ ...facts, errors: [toSyncError(prepared.problem)] }, []);
  if (prepared.targets.length === 0) return toResult({ ...facts, errors: prepared.errors }, []);
  const { run, targets } = await transaction(ctx, async (ctx) => {
    const run = await createRun(ctx, gateway, { cause: "request", options, errors: prepared.errors });
    const targets = await addRunAgents(ctx, { run_id: run.id, gateway, queued: false }, prepared.targets);
    if (targets.length === 0) await endRun(ctx, run.id, { errors: [], warnings: [] });
    return { run, targets };
  });
  const work = { gateway, run, prepared: { ...prepared, targets }, finish_job_id: crypto.randomUUID() };
  try {
    let recorded = Promise.resolve(false);
    const record = (results: readonly AgentResult[]) =>
      (recorded = Promise.all([recorded, recordResults(ctx, work, results)]).then((list) => list.includes(true)));
    const progress = await processTargets(ctx, work, { signal, record });
    const is_last = [await recorded, await recordProgress(ctx, work, progress)].includes(true);
    const is_unfinished = is_last
      ? !(await finalizeInline(ctx, work, signal))
      : progress.not_started.length + progress.in_progress.length > 0;
    return await waitForResult(ctx, run, is_unfinished ? AbortSignal.abort() : signal);
  } finally {
    await addWaitingLanes(ctx, [gateway.id, ...targets.map(({ lane }) => lane)]);
  }
}

function ignoreWaiting(error: unknown): undefined {
  if (!(error instanceof GatewayError) || !error.is_waiting) throw error;
}

/** A run that this process works on itself. */
interface InlineRun {
  gateway: GatewayRow;
  run: RunRow;
  prepared: PreparedSync;
  finish_job_id: string;
}

/** Ends the jobs of the results' agents, and records the results. Returns true when the caller must finish the run. */
function recordResults(ctx: Context, work: InlineRun, results: readonly AgentResult[]): Promise<boolean> {
  const { gateway, run, prepared, finish_job_id } = work;
  const ended = new Set(results.map(({ run_agent_id }) => run_agent_id));
  const job_ids = prepared.targets.filter(({ run_agent_id }) => ended.has(run_agent_id)).map(({ job_id }) => job_id);
  const owner = { run_id: run.id, gateway_id: gateway.id, organization_id: gateway.organization_id };
  return transaction(ctx, async (ctx) => {
    await endJobs(ctx, job_ids);
    return recordAgentResults(ctx, owner, results, finish_job_id);
  });
}

/** Records the last results and hands unfinished jobs over to the queue. If the host is unreachable, it ends the run instead. */
async function recordProgress(ctx: Context, work: InlineRun, progress: WorkProgress): Promise<boolean> {
  const { gateway, run, prepared, finish_job_id } = work;
  const { results, in_progress, not_started, unreachable } = progress;
  const jobsOf = (targets: readonly { job_id: string }[]) => targets.map(({ job_id }) => job_id);
  if (unreachable) await recordConnectivity(ctx, { ...gateway, connected: true }, unreachable);
  return transaction(ctx, async (ctx) => {
    if (!unreachable) {
      await releaseJobs(ctx, jobsOf(not_started));
      await abandonJobs(ctx, jobsOf(in_progress), new Date(ctx.now().getTime() + IN_FLIGHT_CALL_MS));
      return recordResults(ctx, work, results);
    }
    await endJobs(ctx, jobsOf(prepared.targets));
    if (await recordResults(ctx, work, results)) await endJobs(ctx, [finish_job_id]);
    await abortRun(ctx, run.id);
    return false;
  });
}

/** Finishes the run in this process, or hands its last job over to the queue. Returns whether the run has ended. */
async function finalizeInline(ctx: Context, work: InlineRun, signal: AbortSignal): Promise<boolean> {
  const { gateway, run, finish_job_id: job_id } = work;
  const synced = await listSyncedAgents(ctx, run);
  const completeRun = (findings: Findings) =>
    transaction(ctx, async (ctx) => {
      await endJobs(ctx, [job_id]);
      await endRun(ctx, run.id, findings);
      return true;
    });
  const afterMs = (ms: number) => new Date(ctx.now().getTime() + ms);
  const asUnfinished = (handover: Promise<void>) => handover.then(() => false);
  if (synced.length === 0) return completeRun({ errors: [], warnings: [] });
  while ((await claimJobs(ctx, [job_id])).length === 0) {
    if (signal.aborted) return asUnfinished(releaseJobs(ctx, [job_id]));
    await pause(POLL_MS);
  }
  try {
    const findings = await untilAborted(finalizeOnHost(work.prepared.host, gateway, run, synced), signal);
    return await (findings ? completeRun(findings) : asUnfinished(abandonJobs(ctx, [job_id], afterMs(IN_FLIGHT_PATCH_MS))));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (!error.is_unreachable) return asUnfinished(releaseJobs(ctx, [job_id], afterMs(error.failure.retry_after_ms ?? 0)));
    await recordConnectivity(ctx, { ...gateway, connected: true }, error);
    return completeRun(toUnfinishedFindings(toGatewayMessage(error), run, synced));
  }
}

/** Waits until this process or a consumer has ended the run, and returns its result. After an abort, returns the running run. */
async function waitForResult(
  ctx: Context,
  { id, gateway_id }: RunRow,
  signal: AbortSignal,
): Promise<TemplateSyncResult | TemplateSyncRun> {
  for (;;) {
    const run = await findRun(ctx, gateway_id, id);
    if (!run) throw notFound();
    if (run.status === "done" || signal.aborted) {
      const rows = await listRunAgents(ctx, id);
      return run.status === "done" ? toResult(run, rows) : toRun(run, rows);
    }
    await pause(POLL_MS);
  }
}
