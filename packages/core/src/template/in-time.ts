import { setTimeout as pause } from "node:timers/promises";
import { type Context, transaction } from "../context.ts";
import { notFound } from "../errors.ts";
import { GatewayError } from "../gateway/client.ts";
import { toGatewayMessage } from "../gateway/failure.ts";
import { isUnreached, recordReach } from "../gateway/reach.ts";
import type { GatewayRow } from "../gateway/target.ts";
import { abandonJobs, endJobs, noteWaiting, releaseJobs, takeJobs } from "../job/batch.ts";
import { finishSync, readSynced, unfinished } from "./finish.ts";
import { createPatience, unlessAborted } from "./patience.ts";
import { type Prepared, prepareSync } from "./prepare.ts";
import { addAgents, endRun, type Findings, findRun, insertRun, readRunAgents, type RunOptions, type RunRow } from "./run.ts";
import { settleAgents, stopRun } from "./settle.ts";
import { errorOf, type TemplateSyncResult, type TemplateSyncRun, toResult, toRun } from "./sync-result.ts";
import { POLL_MS, type WorkEnd, workOff } from "./worker.ts";

/** Milliseconds from the beginning of a request. */
export const LIMITS = {
  /** A host that has not let us in by then is what the answer tells. */
  first_contact_ms: 10_000,
  /** A host that has gone away and not come back by then is given up. */
  host_ms: 21_000,
  /** The answer comes, whatever is left; API Gateway gives up after 29 s. */
  answer_ms: 24_000,
};

/** Calls that were sent before the answer may still arrive at the host for so long. */
const LAST_CALL_MS = 20_000;
const LAST_PATCH_MS = 40_000;

/**
 * A sync that somebody waits for. All of it stands in a run from the beginning, with a job for each agent that this process
 * takes itself: what it has not done when the time is over, or when it dies, consumers do.
 */
export async function syncInTime(
  ctx: Context,
  gateway: GatewayRow,
  options: RunOptions,
  { limits, signal }: { limits: typeof LIMITS; signal: AbortSignal },
): Promise<TemplateSyncResult | TemplateSyncRun> {
  const patience = createPatience(limits.first_contact_ms, signal);
  const facts = { gateway_id: gateway.id, options, warnings: [] };
  const prepared = await prepareSync(ctx, gateway, options, patience);
  if (prepared.problem !== null) return toResult({ ...facts, errors: [errorOf(prepared.problem)] }, []);
  if (prepared.targets.length === 0) return toResult({ ...facts, errors: prepared.errors }, []);
  patience.extend(limits.host_ms);
  const { run, targets } = await transaction(ctx, async (ctx) => {
    const run = await insertRun(ctx, gateway, { cause: "request", options, errors: prepared.errors });
    const targets = await addAgents(ctx, { run_id: run.id, gateway, queued: false }, prepared.targets);
    if (targets.length === 0) await endRun(ctx, run.id, { errors: [], warnings: [] });
    return { run, targets };
  });
  const work = { gateway, run, prepared: { ...prepared, targets }, finish_job_id: crypto.randomUUID() };
  try {
    const end = await workOff(ctx, work, signal);
    const is_last = await recordWork(ctx, work, end);
    const is_left = is_last ? !(await finishHere(ctx, work, signal)) : end.left.length + end.unfinished.length > 0;
    return await read(ctx, run, is_left ? AbortSignal.abort() : signal);
  } finally {
    await noteWaiting(ctx, [gateway.id, ...targets.map(({ lane }) => lane)]);
  }
}

/** A run that this process does itself. */
interface Work {
  gateway: GatewayRow;
  run: RunRow;
  prepared: Prepared;
  finish_job_id: string;
}

/** Writes what came of the work, and leaves what is left of it to the queue. True when the run is to be finished here. */
async function recordWork(ctx: Context, { gateway, run, prepared, finish_job_id }: Work, end: WorkEnd): Promise<boolean> {
  const { settled, unfinished, left, unreached } = end;
  const ended = new Set(settled.map(({ run_agent_id }) => run_agent_id));
  const own = prepared.targets.filter(({ run_agent_id }) => ended.has(run_agent_id));
  const whose = { run_id: run.id, gateway_id: gateway.id, organization_id: gateway.organization_id };
  const jobsOf = (targets: readonly { job_id: string }[]) => targets.map(({ job_id }) => job_id);
  if (unreached) await recordReach(ctx, { ...gateway, connected: true }, unreached);
  return transaction(ctx, async (ctx) => {
    await endJobs(ctx, jobsOf(unreached ? prepared.targets : own));
    if (!unreached) {
      await releaseJobs(ctx, jobsOf(left));
      await abandonJobs(ctx, jobsOf(unfinished), new Date(ctx.now().getTime() + LAST_CALL_MS));
    }
    const is_last = await settleAgents(ctx, whose, settled, finish_job_id);
    if (!unreached) return is_last;
    if (is_last) await endJobs(ctx, [finish_job_id]);
    await stopRun(ctx, run.id);
    return false;
  });
}

/** Finishes the run in this process, or leaves it to the queue; returns whether it is finished. */
async function finishHere(ctx: Context, work: Work, signal: AbortSignal): Promise<boolean> {
  const { gateway, run, finish_job_id: job_id } = work;
  const synced = await readSynced(ctx, run);
  const end = (findings: Findings) =>
    transaction(ctx, async (ctx) => {
      await endJobs(ctx, [job_id]);
      await endRun(ctx, run.id, findings);
      return true;
    });
  const later = (ms: number) => new Date(ctx.now().getTime() + ms);
  const leave = (left: Promise<void>) => left.then(() => false);
  if (synced.length === 0) return end({ errors: [], warnings: [] });
  while ((await takeJobs(ctx, [job_id])).length === 0) {
    if (signal.aborted) return leave(releaseJobs(ctx, [job_id]));
    await pause(POLL_MS);
  }
  try {
    const findings = await unlessAborted(finishSync(work.prepared.host, gateway, run, synced), signal);
    return await (findings ? end(findings) : leave(abandonJobs(ctx, [job_id], later(LAST_PATCH_MS))));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (!isUnreached(error)) return leave(releaseJobs(ctx, [job_id], later(error.failure.retry_after_ms ?? 0)));
    await recordReach(ctx, { ...gateway, connected: true }, error);
    return end(unfinished(toGatewayMessage(error), run, synced));
  }
}

/** The result of a run that is done, and of one that others finish, when they do so before the signal aborts. */
async function read(
  ctx: Context,
  { id, gateway_id }: RunRow,
  signal: AbortSignal,
): Promise<TemplateSyncResult | TemplateSyncRun> {
  for (;;) {
    const run = await findRun(ctx, gateway_id, id);
    if (!run) throw notFound();
    if (run.status === "done" || signal.aborted) {
      const rows = await readRunAgents(ctx, id);
      return run.status === "done" ? toResult(run, rows) : toRun(run, rows);
    }
    await pause(POLL_MS);
  }
}
