import type { System } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { isDatabaseUnavailable } from "../db/query-error.ts";
import { withDatabaseRetry } from "../db/retry-unavailable.ts";
import { ExpectedFailure } from "../values/errors.ts";
import { createScopedLog, errorText, stackFrames } from "../values/log.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { type OpenSpan, traced } from "../context/tracer.ts";
import { unseal } from "../values/seal.ts";
import { endTrial } from "./circuit.ts";
import type { JobHandlers } from "./handler.ts";
import { isStillQueued, resolveUnleased } from "./not-leased.ts";
import type { JobRow } from "./job.ts";
import type { JobKind, JobPayloads } from "./kinds.ts";
import { leaseJob, renewLease } from "./lease.ts";
import {
  type AnyHandler,
  type AttemptOutcome,
  completeJob,
  countFailedEnd,
  DatabaseUnavailable,
  giveUp,
  MAX_CRASHES,
  recordFailure,
} from "./outcome.ts";

/** How often a running attempt renews its lease. */
export const RENEW_INTERVAL_MS = 15_000;
/**
 * A bug of this service made a job fail. The failure has already been stored and logged. The caller must let the queue deliver
 * the message again.
 */
export class JobCrashed extends Error {
  constructor(cause: unknown) {
    super(errorText(cause), { cause });
    this.name = "JobCrashed";
  }
}

/**
 * Runs one attempt of a job, unless the job is done, leased, not due, behind other jobs of its lane, or held. An ExpectedFailure
 * uses up the wake-up, and the retry gets a new wake-up. Any other error is rethrown as JobCrashed, so that the queue delivers
 * the wake-up again.
 */
export async function runJob(ctx: Context<System>, handlers: JobHandlers, id: string): Promise<void> {
  const job = await withDatabaseRetry(() => leaseJob(ctx, id));
  if (job) return runLeased(ctx, handlers, job);
  const unleased = await withDatabaseRetry(() => resolveUnleased(ctx, id));
  if (unleased.outcome === "waiting") return;
  const { job: waiting } = unleased;
  const jobContext = toJobContext(ctx, waiting);
  if (unleased.outcome === "expired") return giveUpWaiting(jobContext, waiting, handlerOf(handlers, waiting), unleased.reason);
  try {
    await runAttempt(jobContext, waiting, handlerOf(handlers, waiting));
  } finally {
    const { trial_until } = unleased;
    if (trial_until && waiting.gateway_id) await endTrial(ctx, waiting.gateway_id, trial_until);
  }
}

/** Runs one attempt of a job that the caller has leased. Throws as `runJob` does. */
export const runLeased = (ctx: Context<System>, handlers: JobHandlers, job: JobRow): Promise<void> =>
  runAttempt(toJobContext(ctx, job), job, handlerOf(handlers, job));

/** Gives up a job whose host was down for as long as all the job's attempts would have taken. */
async function giveUpWaiting(ctx: Context<System>, job: JobRow, handler: AnyHandler | undefined, reason: string): Promise<void> {
  try {
    if (await withDatabaseRetry(() => giveUp(ctx, job, handler, { reason, unreachable: true, condition: isStillQueued(job) })))
      ctx.meter.record("DeliveryAttempts", 1, { kind: job.kind, outcome: "dead" });
  } catch (error) {
    if (!isDatabaseUnavailable(error)) await countFailedEnd(ctx, job);
    throw error;
  }
  addPendingWakeup(ctx.pendingWakeups, job);
}

/**
 * Returns the context of an attempt. A job keeps the trace id of the request that enqueued it, and passes it on to the jobs that it
 * enqueues.
 */
function toJobContext(ctx: Context<System>, job: JobRow): Context<System> {
  const { id: job_id, kind, trace_id, organization_id, gateway_id, attempts } = job;
  return {
    ...ctx,
    trace_id,
    log: createScopedLog(ctx.log, { job_id, kind, trace_id, organization_id, gateway_id, attempt: attempts }),
  };
}

function runAttempt(ctx: Context<System>, job: JobRow, handler: AnyHandler | undefined): Promise<void> {
  const { kind, trace_id } = job;
  const attributes = { "board.job.id": job.id, "board.job.kind": kind, "board.job.attempt": job.attempts };
  return traced(ctx, { name: `job ${kind}`, kind: "consumer", trace_id, attributes }, (span) =>
    runTraced(ctx, job, handler, span),
  );
}

async function runTraced(ctx: Context<System>, job: JobRow, handler: AnyHandler | undefined, span: OpenSpan): Promise<void> {
  const recordOutcome = (outcome: AttemptOutcome) => {
    ctx.meter.record("DeliveryAttempts", 1, { kind: job.kind, outcome });
    span.set({ "board.job.outcome": outcome });
  };
  const start = performance.now();
  const renewal = setInterval(() => void renewLease(ctx, job), RENEW_INTERVAL_MS);
  try {
    if (!handler) throw new Error(`No handler for jobs of kind ${job.kind}`);
    if (job.crashes >= MAX_CRASHES) throw new Error(`Worker exited without reporting (crash ${job.crashes} of ${MAX_CRASHES})`);
    const secret = job.secret_sealed ? unseal(ctx.settings.encryption_key, job.secret_sealed) : null;
    const completion = await handler.run(ctx, job.payload as JobPayloads[JobKind], {
      id: job.id,
      lane: job.lane,
      secret,
      is_last_attempt: job.attempts >= job.max_attempts,
    });
    if (!(await withDatabaseRetry(() => completeJob(ctx, job, completion)))) return;
    ctx.log.info("jobs.done", "Job done", { duration_ms: Math.round(performance.now() - start) });
    recordOutcome("done");
  } catch (thrown) {
    const error = isDatabaseUnavailable(thrown) ? new DatabaseUnavailable(errorText(thrown), { cause: thrown }) : thrown;
    const expected = error instanceof ExpectedFailure;
    if (!expected) ctx.log.error("jobs.crashed", errorText(error), { stack: stackFrames(error) });
    const outcome = await withDatabaseRetry(() => recordFailure(ctx, job, handler, error));
    if (outcome) recordOutcome(outcome);
    if (!expected) throw new JobCrashed(error);
  } finally {
    clearInterval(renewal);
    // The lane has a new head, or this job has a next attempt. The relay sends the wake-up for it.
    addPendingWakeup(ctx.pendingWakeups, job);
  }
}

/**
 * Returns the handler of a job. It is undefined if a newer version of the service stored the job and this version does not know its
 * kind.
 */
const handlerOf = (handlers: JobHandlers, job: JobRow) => handlers[job.kind as JobKind] as AnyHandler | undefined;
