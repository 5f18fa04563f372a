import { and, asc, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
import { type Context, inTransaction } from "../context.ts";
import { violatedIndex } from "../db/conflict.ts";
import { note } from "../outbox.ts";
import { seal } from "../seal.ts";
import { jobs } from "./job.sql.ts";
import { type JobKind, type JobPayloads, POLICIES } from "./kinds.ts";

/** One of many jobs. Its maker names it, because its maker may do it too. */
export interface BatchJob<K extends JobKind> {
  id: string;
  lane: string;
  payload: JobPayloads[K];
  /** Kept sealed, and erased when the job ends. */
  secret: string | null;
}

/** Rows in one statement, well below the number of parameters that one may have. */
const BATCH = 1_000;
/** As long as any consumer holds a job. Longer than any request lives, so that it is not renewed. */
const LEASE_MS = 60_000;

/**
 * Stores jobs in the caller's transaction. `queued` has them relayed; whoever takes them itself has nothing to send.
 */
export async function storeJobs<K extends JobKind>(
  ctx: Context,
  kind: K,
  list: readonly BatchJob<K>[],
  { queued, ...whose }: { organization_id: string; gateway_id: string | null; queued: boolean },
): Promise<void> {
  if (!inTransaction(ctx)) throw new Error(`storeJobs("${kind}") outside a transaction`);
  for (let at = 0; at < list.length; at += BATCH)
    await ctx.db.insert(jobs).values(
      list.slice(at, at + BATCH).map(({ secret, ...job }) => ({
        ...job,
        ...whose,
        kind,
        secret_sealed: secret === null ? null : seal(ctx.settings.encryption_key, secret),
        run_at: ctx.now(),
        trace_id: ctx.trace_id,
        max_attempts: POLICIES[kind].attempts,
      })),
    );
  if (queued) for (const job of list) note(ctx.outbox, job);
}

/**
 * Takes jobs to do them in this process, without the queue: those of the ids whose lanes nobody works in at the moment, in
 * front of what waits there. While they are held nobody else works in their lanes; when this process dies, consumers take
 * them over as those of any other. Returns which were taken.
 */
export async function takeJobs(ctx: Context, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const now = ctx.now();
  const isFree = sql`not exists (select 1 from ${jobs} as other where other.lane = ${jobs}.lane and other.status = 'running')`;
  const one_of_each_lane = ctx.db
    .selectDistinctOn([jobs.lane], { id: jobs.id })
    .from(jobs)
    .where(and(inArray(jobs.id, [...ids]), isWaiting, lte(jobs.run_at, now), isFree))
    .orderBy(asc(jobs.lane), asc(jobs.seq));
  try {
    const taken = await ctx.db
      .update(jobs)
      .set({ status: "running", attempts: sql`${jobs.attempts} + 1`, lease_until: new Date(now.getTime() + LEASE_MS) })
      .where(and(inArray(jobs.id, one_of_each_lane), isWaiting))
      .returning({ id: jobs.id });
    return taken.map(({ id }) => id);
  } catch (error) {
    // At the same moment a consumer took another job of one of the lanes.
    if (violatedIndex(error) === "jobs_running") return [];
    throw error;
  }
}

const isWaiting = eq(jobs.status, "queued");

/** Ends jobs that this process has done, in the transaction that writes what came of them. */
export async function endJobs(ctx: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await ctx.db
    .update(jobs)
    .set({ status: "done", finished_at: ctx.now(), lease_until: null, secret_sealed: null, last_error: null })
    .where(and(inArray(jobs.id, [...ids]), inArray(jobs.status, ["queued", "running"])));
}

/**
 * Notes for the relay what waits in lanes that this process has left. After the commit that left them: what came until then
 * has found its lane closed.
 */
export async function noteWaiting(ctx: Context, lanes: readonly string[]): Promise<void> {
  const waiting = await ctx.db
    .selectDistinct({ lane: jobs.lane })
    .from(jobs)
    .where(and(inArray(jobs.lane, [...lanes]), isWaiting));
  for (const { lane } of waiting) note(ctx.outbox, { id: "", lane });
}

/** Leaves jobs to the queue, from `run_at` on, as if they had not been taken. */
export async function releaseJobs(ctx: Context, ids: readonly string[], run_at: Date = ctx.now()): Promise<void> {
  await leave(ctx, ids, { status: "queued", run_at, lease_until: null, attempts: sql`greatest(${jobs.attempts} - 1, 0)` });
}

/** Leaves jobs that this process may still be at to the queue; their lanes stay closed until `lease_until`. */
export async function abandonJobs(ctx: Context, ids: readonly string[], lease_until: Date): Promise<void> {
  await leave(ctx, ids, { lease_until });
}

async function leave(
  ctx: Context,
  ids: readonly string[],
  values: { status?: "queued"; run_at?: Date; lease_until: Date | null; attempts?: SQL },
): Promise<void> {
  if (ids.length === 0) return;
  const left = await ctx.db
    .update(jobs)
    .set({ ...values, sent_at: null })
    .where(and(inArray(jobs.id, [...ids]), inArray(jobs.status, ["queued", "running"])))
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of left) note(ctx.outbox, job);
}

/** Replaces the secret of the jobs of a kind that wait in a lane and have one. */
export async function replaceSecrets(ctx: Context, kind: JobKind, lane: string, secret: string): Promise<void> {
  const waiting = and(eq(jobs.lane, lane), eq(jobs.kind, kind), isWaiting, sql`${jobs.secret_sealed} is not null`);
  await ctx.db
    .update(jobs)
    .set({ secret_sealed: seal(ctx.settings.encryption_key, secret) })
    .where(waiting);
}
