import { and, eq, lte, or, sql } from "drizzle-orm";
import type { System } from "./actor.ts";
import { cleanUpAgent } from "./agent/cleanup.ts";
import { configureHeartbeats } from "./agent/heartbeat-config.ts";
import { provisionAgent, updateAgentFiles } from "./agent/provision.ts";
import { checkWake } from "./agent/wake.ts";
import { publishBoardEvent } from "./board-event/board-event.ts";
import { type Context, transaction } from "./context.ts";
import { violatedIndex } from "./db/conflict.ts";
import { ExpectedFailure } from "./errors.ts";
import { isTransient } from "./gateway/failure.ts";
import { probeHost } from "./gateway/probe.ts";
import { headOfLane, type JobRow, unsend } from "./job/job.ts";
import { jobs } from "./job/job.sql.ts";
import { backoff, type JobKind, type JobPayloads, POLICIES } from "./job/kinds.ts";
import { errorText, framesOf, withFields } from "./log.ts";
import { note } from "./outbox.ts";
import { deliverNotice } from "./notice/notice.ts";
import { unseal } from "./seal.ts";
import { syncPackLater } from "./skill/sync-job.ts";
import { beginSync, finishRun, syncOneAgent } from "./template/sync-jobs.ts";
import { notifyWebhook } from "./webhook/notify.ts";

/** What a handler may know of its job beside the payload. */
export interface JobFacts {
  /** Makes idempotency keys: a repeat of the job has the same. */
  id: string;
  lane: string | null;
  /** What was sealed into the job. */
  secret: string | null;
}

/** What is to be written together with the job's end, in one transaction. */
export type Ending = (ctx: Context<System>) => Promise<void>;

/** How one kind of job is done. */
export interface JobHandler<K extends JobKind> {
  /** Does the work, at least once: a repeat must do no harm. Outside any transaction. */
  run(ctx: Context<System>, payload: JobPayloads[K], job: JobFacts): Promise<Ending | void>;
  /** Records that an attempt failed which another one follows, in the transaction that plans that. */
  postponed?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
  /** Records that the job is given up, in the transaction that ends it. */
  failed?(ctx: Context<System>, payload: JobPayloads[K], reason: string, lane: string | null): Promise<void>;
}

/** The one table: kind of job to what it does. */
const handlers: { [K in JobKind]: JobHandler<K> } = {
  "agent.cleanup": cleanUpAgent,
  "agent.provision": provisionAgent,
  "agent.update": updateAgentFiles,
  "agent.wake_check": checkWake,
  "config.heartbeat": configureHeartbeats,
  "event.publish": publishBoardEvent,
  "gateway.probe": probeHost,
  notice: deliverNotice,
  "pack.sync": syncPackLater,
  "sync.agent": syncOneAgent,
  "sync.finish": finishRun,
  "sync.start": beginSync,
  "webhook.notify": notifyWebhook,
};

const LEASE_MS = 60_000;
const RENEW_MS = 20_000;
/** An error that we did not expect is our bug; the queue gives up after as many receives and keeps the message for us. */
const MAX_CRASHES = 5;

/** A job failed by an error of this service. It is recorded and logged; the wake-up has to come back. */
export class JobCrashed extends Error {
  constructor(cause: unknown) {
    super(errorText(cause), { cause });
    this.name = "JobCrashed";
  }
}

/** How an attempt ended. One that another worker has taken over in the meantime is counted there. */
type Outcome = "done" | "retry" | "dead" | "crashed";

/**
 * Works on one job. Nothing happens when it is done, leased by another, not due, or not at the head of its lane. An
 * ExpectedFailure is handled: attempt and next due time are recorded, and the wake-up is used up. Anything else is thrown
 * as a JobCrashed after it was recorded, so that the wake-up comes back and ends in the dead-letter queue.
 */
export async function deliver(ctx: Context<System>, id: string): Promise<void> {
  const job = await lease(ctx, id);
  if (!job) {
    // Too early, behind another job of its lane, or with another worker, which may be a dead one: this wake-up is used up,
    // so that the relay must send a new one for when the job can be taken.
    await unsend(ctx, eq(jobs.id, id));
    return;
  }
  await attempt(contextOf(ctx, job), job);
}

/** The job goes on with the trace of the request that it comes from, and so do the jobs that it makes. */
function contextOf(ctx: Context<System>, job: JobRow): Context<System> {
  const { id: job_id, kind, trace_id, organization_id, gateway_id, attempts } = job;
  return {
    ...ctx,
    trace_id,
    log: withFields(ctx.log, { job_id, kind, trace_id, organization_id, gateway_id, attempt: attempts }),
  };
}

async function attempt(ctx: Context<System>, job: JobRow): Promise<void> {
  const measure = (outcome: Outcome) => ctx.meter.record("DeliveryAttempts", 1, { kind: job.kind, outcome });
  const handler = handlerOf(job);
  const start = performance.now();
  const renewal = setInterval(() => void renew(ctx, job), RENEW_MS);
  try {
    if (!handler) throw new Error(`No handler for jobs of kind ${job.kind}`);
    if (job.crashes >= MAX_CRASHES) throw new Error(`Its worker ended without a word ${job.crashes} times`);
    const secret = job.secret_sealed ? unseal(ctx.settings.encryption_key, job.secret_sealed) : null;
    const ending = await handler.run(ctx, job.payload as JobPayloads[JobKind], { id: job.id, lane: job.lane, secret });
    if (!(await finish(ctx, job, ending))) return;
    ctx.log.info("jobs.done", "A job is done", { duration_ms: Math.round(performance.now() - start) });
    measure("done");
  } catch (error) {
    const expected = error instanceof ExpectedFailure;
    if (!expected) ctx.log.error("jobs.crashed", errorText(error), { stack: framesOf(error) });
    const outcome = await recordFailure(ctx, job, error);
    if (outcome) measure(outcome);
    if (!expected) throw new JobCrashed(error);
  } finally {
    clearInterval(renewal);
    // The next job of the lane, or this one's next attempt, can be sent now.
    note(ctx.outbox, job);
  }
}

async function finish(ctx: Context<System>, job: JobRow, ending: Ending | void): Promise<boolean> {
  const done = { status: "done", last_error: null } as const;
  if (!ending) return end(ctx, job, done);
  return transaction(ctx, async (ctx) => {
    const ended = await end(ctx, job, done);
    if (ended) await ending(ctx);
    return ended;
  });
}

const handlerOf = (job: JobRow) => handlers[job.kind as JobKind] as JobHandler<JobKind> | undefined;

async function lease(ctx: Context, id: string): Promise<JobRow | undefined> {
  const now = ctx.now();
  const isDue = or(
    and(eq(jobs.status, "queued"), lte(jobs.run_at, now)),
    and(eq(jobs.status, "running"), lte(jobs.lease_until, now)),
  );
  try {
    const [job] = await ctx.db
      .update(jobs)
      .set({
        status: "running",
        attempts: sql`${jobs.attempts} + 1`,
        // Still running after its lease: the worker that had it is gone.
        crashes: sql`${jobs.crashes} + case when ${jobs.status} = 'running' then 1 else 0 end`,
        lease_until: new Date(now.getTime() + LEASE_MS),
      })
      .where(and(eq(jobs.id, id), isDue, headOfLane))
      .returning();
    return job;
  } catch (error) {
    // At the same moment another worker took another job of the lane.
    if (violatedIndex(error) === "jobs_running") return undefined;
    throw error;
  }
}

/** This attempt's hold on the job: whoever leased it later has raised the count. */
const held = (job: JobRow) => and(eq(jobs.id, job.id), eq(jobs.status, "running"), eq(jobs.attempts, job.attempts));

async function renew(ctx: Context, job: JobRow): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ lease_until: new Date(ctx.now().getTime() + LEASE_MS) })
    .where(held(job))
    .catch((error: unknown) => ctx.log.warn("jobs.lease_not_renewed", errorText(error)));
}

async function end(ctx: Context, job: JobRow, outcome: { status: "done" | "dead"; last_error: string | null }): Promise<boolean> {
  const ended = await ctx.db
    .update(jobs)
    .set({ ...outcome, finished_at: ctx.now(), lease_until: null, secret_sealed: null })
    .where(held(job))
    .returning({ id: jobs.id });
  return ended.length > 0;
}

/** Plans the next attempt, or ends the job after its last one. A job that another worker has taken over is left to it: null. */
async function recordFailure(ctx: Context<System>, job: JobRow, error: unknown): Promise<Outcome | null> {
  const expected = error instanceof ExpectedFailure;
  const reason = errorText(error);
  const helps = expected && (POLICIES[job.kind as JobKind].stubborn === true || isTransient(error));
  if (expected ? helps && job.attempts < job.max_attempts : job.crashes + 1 < MAX_CRASHES) {
    if (!(await postpone(ctx, job, error))) return null;
    if (!expected) return "crashed";
    ctx.log.warn("jobs.attempt_failed", "A job failed and is tried again", { error: reason });
    return "retry";
  }
  const givenUp = await transaction(ctx, async (ctx) => {
    if (!(await end(ctx, job, { status: "dead", last_error: reason }))) return false;
    await handlerOf(job)?.failed?.(ctx, job.payload as JobPayloads[JobKind], reason, job.lane);
    return true;
  });
  if (!givenUp) return null;
  ctx.log.error("jobs.dead", "A job is given up; redrive it once the cause is mended", { error: reason });
  return "dead";
}

/** What a handler has to say of a failure belongs to it; a crash is our bug and nobody else's to read of. */
function postpone(ctx: Context<System>, job: JobRow, error: unknown): Promise<boolean> {
  const handler = handlerOf(job);
  if (!handler?.postponed || !(error instanceof ExpectedFailure)) return giveBack(ctx, job, error);
  return transaction(ctx, async (ctx) => {
    const given = await giveBack(ctx, job, error);
    if (given) await handler.postponed?.(ctx, job.payload as JobPayloads[JobKind], errorText(error), job.lane);
    return given;
  });
}

/** However long a host asks to be left alone. */
const LONGEST_WAIT_MS = 10 * 60_000;

/** Back to the queue: with a delay and a wake-up of its own after an expected failure, else for the wake-up that comes back by itself. */
async function giveBack(ctx: Context, job: JobRow, error: unknown): Promise<boolean> {
  const delay = (asked_ms: number) =>
    Math.max(backoff(POLICIES[job.kind as JobKind], job.attempts), Math.min(asked_ms, LONGEST_WAIT_MS));
  const later = (asked_ms: number) => new Date(ctx.now().getTime() + delay(asked_ms));
  const given = await ctx.db
    .update(jobs)
    .set({
      status: "queued",
      last_error: errorText(error),
      lease_until: null,
      ...(error instanceof ExpectedFailure
        ? { run_at: later(error.retry_after_ms ?? 0), sent_at: null }
        : { crashes: job.crashes + 1 }),
    })
    .where(held(job))
    .returning({ id: jobs.id });
  return given.length > 0;
}
