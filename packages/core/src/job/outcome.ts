import { and, eq, type SQL, sql } from "drizzle-orm";
import type { System } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { placeholders, preparedQuery } from "../db/prepared.ts";
import { ExpectedFailure } from "../values/errors.ts";
import { errorText } from "../values/log.ts";
import type { JobHandler } from "./handler.ts";
import { type JobResult, jobs } from "../schema/job.sql.ts";
import type { JobRow } from "./job.ts";
import { backoff, type JobKind, type JobPayloads, type JobRetryPolicy, RETRY_POLICIES } from "./kinds.ts";
import { hasStatus } from "./lane.ts";
import { isOwnLease } from "./lease.ts";
import { freedSlots, hasHeldJobs, wakeHeldJobs } from "./slots.ts";

/**
 * The number of crashes after which a job is given up. It equals the queue's receive limit, so that the message of a job that keeps
 * crashing ends in the dead-letter queue.
 */
export const MAX_CRASHES = 5;
/**
 * From this number of crashes on, a job is given up without its handler. The handler has failed several times to record the end of
 * the job, which would otherwise be tried again for ever and block the job's lane.
 */
const MAX_CRASHES_WITH_RECORD = MAX_CRASHES + 3;

/** The database was unavailable during an attempt. */
export class DatabaseUnavailable extends ExpectedFailure {
  override readonly name = "DatabaseUnavailable";
  override get is_transient(): boolean {
    return true;
  }
}

/**
 * Extra attempts for a job that lost the database during an attempt. Their number is limited, because the job itself may cause
 * the failure of the database.
 */
const EXTRA_ATTEMPTS = 5;
const DATABASE_BACKOFF_MS = 1_000;
/**
 * The delay of a job that waits while other jobs write to its host. The delay is about as long as a write takes. Jitter spreads
 * the waiting jobs.
 */
const WAITING_BACKOFF_MS = 1_000;

/**
 * How an attempt ended. An attempt that lost its lease reports nothing. The worker that took the job over reports the outcome.
 */
export type AttemptOutcome = "done" | "retry" | "dead" | "crashed";

export type AnyHandler = JobHandler<JobKind>;

/** Marks a job as done and runs the handler's write in one transaction. Returns false if another worker has taken the job over. */
export async function completeJob(
  ctx: Context<System>,
  job: JobRow,
  completion: Awaited<ReturnType<AnyHandler["run"]>>,
): Promise<boolean> {
  const { result = null, write } = typeof completion === "function" ? { write: completion } : (completion ?? {});
  if (!write) return markDone(ctx, job, result);
  return transaction(ctx, async (ctx) => {
    const ended = await markDone(ctx, job, result);
    if (ended) await write(ctx);
    return ended;
  });
}

const clearedByEnd = { ...freedSlots, secret_sealed: null, held_by: null, held_since: null };

const updateDone = preparedQuery((db, organization: boolean) =>
  db
    .update(jobs)
    .set({
      status: "done",
      last_error: null,
      ...placeholders(["result", "finished_at"]),
      ...clearedByEnd,
    })
    .where(isOwnLease({ id: sql.placeholder("id"), lease_token: sql.placeholder("lease_token") }))
    .returning({ has_held: hasHeldJobs({ organization_id: organization ? sql.placeholder("organization_id") : null }) }),
);

/** Ends a job that succeeded. Returns false when another worker has taken it over. */
async function markDone(ctx: Context, job: JobRow, result: JobResult | null): Promise<boolean> {
  const { id, lease_token, organization_id } = job;
  const values = { id, lease_token, organization_id, result, finished_at: ctx.now() };
  const [ended] = await updateDone(ctx.db, organization_id !== null).execute(values);
  if (ended?.has_held) await wakeHeldJobs(ctx, job);
  return ended !== undefined;
}

async function endJob(
  ctx: Context,
  job: JobRow,
  outcome: { status: "dead"; last_error: string | null; unreachable: boolean },
  condition: SQL | undefined = isOwnLease(job),
): Promise<boolean> {
  const [ended] = await ctx.db
    .update(jobs)
    .set({ ...outcome, ...clearedByEnd, finished_at: ctx.now() })
    .where(condition)
    .returning({ has_held: hasHeldJobs(job) });
  if (ended?.has_held) await wakeHeldJobs(ctx, job);
  return ended !== undefined;
}

/**
 * Ends a job as dead and lets the handler record it, unless the handler has failed to do so too often. Returns false when another
 * worker has taken the job over.
 */
export async function giveUp(
  ctx: Context<System>,
  job: JobRow,
  handler: AnyHandler | undefined,
  { reason, unreachable, condition }: { reason: string; unreachable: boolean; condition?: SQL | undefined },
): Promise<boolean> {
  const isRecorded = job.crashes < MAX_CRASHES_WITH_RECORD;
  const isDead = await transaction(ctx, async (ctx) => {
    if (!(await endJob(ctx, job, { status: "dead", last_error: reason, unreachable }, condition))) return false;
    if (isRecorded) await handler?.onDead?.(ctx, job.payload as JobPayloads[JobKind], reason, job.lane);
    return true;
  });
  if (isDead) ctx.log.error("jobs.dead", "Job is dead; redrive it once the cause is fixed", { error: reason });
  if (isDead && !isRecorded)
    ctx.log.error(
      "jobs.end_not_recorded",
      "What the job was about does not show that the job is dead, because each try to record it failed",
    );
  return isDead;
}

/** Counts a failed attempt to give up a waiting job. A leased job needs no such count, because a take-over counts as a crash. */
export async function countFailedEnd(ctx: Context, { id }: JobRow): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ crashes: sql`${jobs.crashes} + 1` })
    .where(and(eq(jobs.id, id), hasStatus("queued")));
}

/**
 * Schedules the next attempt, or gives the job up after its last attempt. Returns null if the attempt only waited, or if another
 * worker has taken the job over.
 */
export async function recordFailure(
  ctx: Context<System>,
  job: JobRow,
  handler: AnyHandler | undefined,
  error: unknown,
): Promise<AttemptOutcome | null> {
  const expected = error instanceof ExpectedFailure;
  const reason = errorText(error);
  // A newer version of the service may have stored a kind that this version does not know. Such a job has no retry policy.
  const { retry_permanent, retry_refusal } = (RETRY_POLICIES[job.kind as JobKind] ?? {}) as Partial<JobRetryPolicy>;
  const isRetriable =
    expected &&
    (retry_permanent === true || error.is_transient || error.is_conflict || (retry_refusal === true && error.is_refusal));
  const max_attempts = job.max_attempts + (error instanceof DatabaseUnavailable ? EXTRA_ATTEMPTS : 0);
  if (expected && error.is_waiting) {
    if (await reschedule(ctx, job, error))
      ctx.log.info("jobs.waiting", "Job waits while others write to its host, and is tried again", { error: reason });
    return null;
  }
  if (expected ? isRetriable && job.attempts < max_attempts : job.crashes + 1 < MAX_CRASHES) {
    if (!(await scheduleRetry(ctx, job, handler, error))) return null;
    if (!expected) return "crashed";
    ctx.log.warn("jobs.attempt_failed", "Job failed; another attempt follows", { error: reason });
    return "retry";
  }
  const unreachable = expected && error.is_unreachable;
  return (await giveUp(ctx, job, handler, { reason, unreachable })) ? "dead" : null;
}

/**
 * Reschedules the job and lets the handler record that a host failed. Failures of the service or its database are not recorded.
 */
function scheduleRetry(ctx: Context<System>, job: JobRow, handler: AnyHandler | undefined, error: unknown): Promise<boolean> {
  if (!handler?.onRetry || !(error instanceof ExpectedFailure) || error instanceof DatabaseUnavailable)
    return reschedule(ctx, job, error);
  return transaction(ctx, async (ctx) => {
    const rescheduled = await reschedule(ctx, job, error);
    if (rescheduled) await handler.onRetry?.(ctx, job.payload as JobPayloads[JobKind], errorText(error), job.lane);
    return rescheduled;
  });
}

/** The maximum wait that a host may ask for. */
const MAX_RETRY_AFTER_SECONDS = 600;
const maxRetryAfterMs = ({ kind }: JobRow) =>
  (RETRY_POLICIES[kind as JobKind].max_retry_after_seconds ?? MAX_RETRY_AFTER_SECONDS) * 1000;

/**
 * Sets the job to `queued`. An attempt that only waited does not count. After an expected failure, the relay sends a wake-up when
 * the backoff is over. After a crash, the queue delivers the same wake-up again, so `run_at` and `sent_at` do not change.
 */
async function reschedule(ctx: Context, job: JobRow, error: unknown): Promise<boolean> {
  const is_waiting = error instanceof ExpectedFailure && error.is_waiting;
  const backoffMs = () =>
    is_waiting ? WAITING_BACKOFF_MS * (1 + Math.random()) : backoff(RETRY_POLICIES[job.kind as JobKind], job.attempts);
  const delayMs = (requested_ms: number) =>
    error instanceof DatabaseUnavailable
      ? DATABASE_BACKOFF_MS
      : Math.max(backoffMs(), Math.min(requested_ms, maxRetryAfterMs(job)));
  const retryAt = (requested_ms: number) => new Date(ctx.now().getTime() + delayMs(requested_ms));
  const [rescheduled] = await ctx.db
    .update(jobs)
    .set({
      status: "queued",
      ...(is_waiting ? { attempts: job.attempts - 1 } : { last_error: errorText(error) }),
      ...freedSlots,
      ...(error instanceof ExpectedFailure
        ? { run_at: retryAt(error.retry_after_ms ?? 0), sent_at: null }
        : { crashes: job.crashes + 1 }),
    })
    .where(isOwnLease(job))
    .returning({ has_held: hasHeldJobs(job) });
  if (rescheduled?.has_held) await wakeHeldJobs(ctx, job);
  return rescheduled !== undefined;
}
