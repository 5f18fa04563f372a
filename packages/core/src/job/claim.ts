import { and, asc, eq, inArray, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import { type Context, isInTransaction } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { seal } from "../values/seal.ts";
import { LEASE_MS } from "./job.ts";
import { jobs } from "../schema/job.sql.ts";
import { type JobKind, type JobPayloads, RETRY_POLICIES } from "./kinds.ts";
import { hasStatus } from "./lane.ts";
import { freedSlots } from "./slots.ts";

/** A job whose id the caller chooses, so that the caller can later claim the job and run it. */
export interface ClaimableJob<K extends JobKind> {
  id: string;
  lane: string;
  payload: JobPayloads[K];
  /** The secret is stored encrypted, and erased when the job ends. */
  secret: string | null;
}

/** Rows per insert, which stays well below the limit of bind parameters. */
const INSERT_BATCH = 1_000;

/**
 * Stores jobs in the caller's transaction. If `queued` is true, the relay sends their wake-ups. Otherwise the caller must claim
 * the jobs itself.
 */
export async function createJobs<K extends JobKind>(
  ctx: Context,
  kind: K,
  list: readonly ClaimableJob<K>[],
  { queued, ...owner }: { organization_id: string; gateway_id: string | null; queued: boolean },
): Promise<void> {
  if (!isInTransaction(ctx)) throw new Error(`createJobs("${kind}") outside a transaction`);
  for (let start = 0; start < list.length; start += INSERT_BATCH)
    await ctx.db.insert(jobs).values(
      list.slice(start, start + INSERT_BATCH).map(({ secret, ...job }) => ({
        ...job,
        ...owner,
        kind,
        secret_sealed: secret === null ? null : seal(ctx.settings.encryption_key, secret),
        run_at: ctx.now(),
        trace_id: ctx.trace_id,
        max_attempts: RETRY_POLICIES[kind].attempts,
      })),
    );
  if (queued) for (const job of list) addPendingWakeup(ctx.pendingWakeups, job);
}

/**
 * Claims jobs to run them in this process without the queue. In each lane without a running job, it claims the first due job of
 * `ids`, even if older jobs wait. Claims nothing if `ids` has several ids and another request is claiming jobs of the gateway.
 * Returns the claimed ids. Their leases are not renewed.
 */
export async function claimJobs(ctx: Context, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const now = ctx.now();
  const isFree = sql`not exists (select 1 from ${jobs} as other where other.lane = ${jobs}.lane and other.status = 'running')`;
  // Two claims could deadlock if each locked one lane and waited for the other's lane. Only jobs of one gateway can share a lane,
  // so one lock per gateway prevents this.
  const owner = sql`(select coalesce(gateway_id, organization_id)::text from ${jobs} where ${eq(jobs.id, ids[0]!)})`;
  const isOnlyClaim = sql`(select pg_try_advisory_xact_lock(hashtextextended('claims of ' || coalesce(${owner}, ''), 0)))`;
  const first_of_each_lane = ctx.db
    .selectDistinctOn([jobs.lane], { id: jobs.id })
    .from(jobs)
    .where(and(inArray(jobs.id, [...ids]), isQueued, lte(jobs.run_at, now), isFree, ids.length > 1 ? isOnlyClaim : undefined))
    .orderBy(asc(jobs.lane), asc(jobs.seq));
  try {
    const claimed = await ctx.db
      .update(jobs)
      .set({
        status: "running",
        attempts: sql`${jobs.attempts} + 1`,
        lease_until: new Date(now.getTime() + LEASE_MS),
        lease_token: null,
        held_by: null,
        held_since: null,
      })
      .where(and(inArray(jobs.id, first_of_each_lane), isQueued))
      .returning({ id: jobs.id });
    return claimed.map(({ id }) => id);
  } catch (error) {
    // A consumer has just leased another job of one of these lanes, so no job is claimed.
    if (violatedUniqueIndex(error) === "jobs_running") return [];
    throw error;
  }
}

const isQueued = eq(jobs.status, "queued");
/**
 * Whether the job waits, or runs in the request that claimed it. A worker may have leased it while the request waited for it, or
 * because the claim had expired.
 */
const isQueuedOrClaimed = or(isQueued, and(hasStatus("running"), isNull(jobs.lease_token)));

/**
 * Marks jobs that this process claimed, or that no process runs, as done. Call it in the transaction that writes their results.
 * Returns the ids of the jobs that ended. A job that a worker has taken over is left to the worker.
 */
export async function endJobs(ctx: Context, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const ended = await ctx.db
    .update(jobs)
    .set({ ...freedSlots, status: "done", finished_at: ctx.now(), secret_sealed: null, last_error: null, held_by: null })
    .where(and(inArray(jobs.id, [...ids]), isQueuedOrClaimed))
    .returning({ id: jobs.id });
  return ended.map(({ id }) => id);
}

/**
 * Adds the lanes that have waiting jobs to the pending wake-ups. Call it after the commit that frees the lanes, because wake-ups
 * that found the lanes occupied had no effect.
 */
export async function addWaitingLanes(ctx: Context, lanes: readonly string[]): Promise<void> {
  const waiting = await ctx.db
    .selectDistinct({ lane: jobs.lane })
    .from(jobs)
    .where(and(inArray(jobs.lane, [...lanes]), isQueued));
  for (const { lane } of waiting) addPendingWakeup(ctx.pendingWakeups, { id: "", lane });
}

/** Returns claimed jobs to the queue, due at `run_at`. The claim does not count as an attempt. */
export async function releaseJobs(ctx: Context, ids: readonly string[], run_at: Date = ctx.now()): Promise<void> {
  await updateLiveJobs(ctx, ids, {
    status: "queued",
    run_at,
    lease_until: null,
    attempts: sql`greatest(${jobs.attempts} - 1, 0)`,
  });
}

/**
 * Hands running claimed jobs over to the consumers. The calls of these jobs may still reach the host, so no other job of their
 * lanes runs before `lease_until`. After that, consumers take the jobs over.
 */
export async function abandonJobs(ctx: Context, ids: readonly string[], lease_until: Date): Promise<void> {
  await updateLiveJobs(ctx, ids, { lease_until });
}

async function updateLiveJobs(
  ctx: Context,
  ids: readonly string[],
  values: { status?: "queued"; run_at?: Date; lease_until: Date | null; attempts?: SQL },
): Promise<void> {
  if (ids.length === 0) return;
  const updated = await ctx.db
    .update(jobs)
    .set({ ...values, sent_at: null })
    .where(and(inArray(jobs.id, [...ids]), isQueuedOrClaimed))
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of updated) addPendingWakeup(ctx.pendingWakeups, job);
}

/** Replaces the secret of the queued jobs of a kind in a lane. Jobs without a secret stay without one. */
export async function replaceSecretsInLane(ctx: Context, kind: JobKind, lane: string, secret: string): Promise<void> {
  const waiting = and(eq(jobs.lane, lane), eq(jobs.kind, kind), isQueued, sql`${jobs.secret_sealed} is not null`);
  await ctx.db
    .update(jobs)
    .set({ secret_sealed: seal(ctx.settings.encryption_key, secret) })
    .where(waiting);
}
