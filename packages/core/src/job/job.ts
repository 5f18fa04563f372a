import { and, count, desc, eq, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import { type Context, isInTransaction } from "../context/context.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { type PreparedWrite, prepareRowsInsert, runWrite } from "../db/prepared-write.ts";
import { seal } from "../values/seal.ts";
import { type JobKind, type JobPayloads, RETRY_POLICIES } from "./kinds.ts";
import { jobs } from "../schema/job.sql.ts";

export type JobRow = typeof jobs.$inferSelect;

/** How long a worker holds a job without renewing its lease. */
export const LEASE_MS = 45_000;

export interface EnqueueOptions {
  /** The id of the job, for callers that store it together with the row that the job is about. By default it is generated. */
  id?: string;
  organization_id: string;
  gateway_id?: string | null;
  subscription_id?: string;
  /** Jobs of one lane run one after the other, in the order of enqueueing. */
  lane?: string;
  /** At most one queued or running job has this key. A second job with it is dropped. */
  dedupe_key?: string;
  run_at?: Date;
  /** The secret is stored encrypted, and erased when the job ends. */
  secret?: string;
}

/**
 * Stores a job in the caller's transaction, so that the job is committed together with the change that causes it. Throws outside
 * of a transaction, because a crash between the commit and a later enqueue would lose the job.
 */
export async function enqueue<K extends JobKind>(
  ctx: Context,
  kind: K,
  payload: JobPayloads[K],
  options: EnqueueOptions,
): Promise<void> {
  if (!isInTransaction(ctx)) throw new Error(`enqueue("${kind}") outside a transaction`);
  await runWrite(ctx, insertJob(ctx, kind, payload, options));
}

/** Enqueues several jobs in one statement. Jobs of the same lane run in the order of the list. */
export async function enqueueAll(ctx: Context, new_jobs: readonly NewJob[]): Promise<void> {
  if (!isInTransaction(ctx)) throw new Error("enqueueAll outside a transaction");
  if (new_jobs.length > 0) await runWrite(ctx, insertJobs(ctx, new_jobs));
}

/** A job that is not stored yet. */
export interface NewJob<K extends JobKind = JobKind> {
  kind: K;
  payload: JobPayloads[K];
  options: EnqueueOptions;
}

/** Builds the insert of one job, like `insertJobs`. */
export const insertJob = <K extends JobKind>(ctx: Context, kind: K, payload: JobPayloads[K], options: EnqueueOptions) =>
  insertJobs(ctx, [{ kind, payload, options }]);

/**
 * Builds the insert of several jobs, for `runWrite` or `runBatch`. Jobs of the same lane run in the order of the list. Building
 * the insert already adds the wake-ups of the jobs to `ctx.pendingWakeups`.
 */
export const insertJobs = (ctx: Context, new_jobs: readonly NewJob[]): PreparedWrite =>
  insertRows(new_jobs.map((job) => toJobRow(ctx, job)));

/**
 * Returns a variant of `insertJobs` for a batch: the jobs are only stored if the write of the batch with this name returns a row.
 */
export function insertJobsIfAny(name: string): typeof insertJobs {
  const insert = prepareInsert(`jobs if any ${name}`, sql`where exists (select 1 from ${sql.identifier(name)})`);
  return (ctx, new_jobs) => insert(new_jobs.map((job) => toJobRow(ctx, job)));
}

const prepareInsert = (key: string, where: SQL) =>
  prepareRowsInsert(
    key,
    jobs,
    [
      "id",
      "kind",
      "payload",
      "lane",
      "organization_id",
      "gateway_id",
      "subscription_id",
      "dedupe_key",
      "secret_sealed",
      "run_at",
      "trace_id",
      "max_attempts",
    ],
    {
      types: { secret_sealed: "text" },
      expressions: { secret_sealed: sql`decode(given.secret_sealed, 'base64')` },
      where,
      onConflict: sql`on conflict do nothing`,
    },
  );

const insertRows = prepareInsert("jobs", sql``);

function toJobRow(ctx: Context, { kind, payload, options }: NewJob) {
  const { id = crypto.randomUUID() } = options;
  addPendingWakeup(ctx.pendingWakeups, { id, lane: options.lane ?? null });
  return {
    id,
    kind,
    payload,
    lane: options.lane ?? null,
    organization_id: options.organization_id,
    gateway_id: options.gateway_id ?? null,
    subscription_id: options.subscription_id ?? null,
    dedupe_key: options.dedupe_key ?? null,
    secret_sealed: options.secret === undefined ? null : toBase64(seal(ctx.settings.encryption_key, options.secret)),
    run_at: options.run_at ?? ctx.now(),
    trace_id: ctx.trace_id,
    max_attempts: RETRY_POLICIES[kind].attempts,
  };
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/**
 * Sets the secret of a gateway's queued and running jobs of a kind. The jobs use the secret after the gateway's row is deleted.
 */
export async function setSecretByGateway(ctx: Context, kind: JobKind, gateway_id: string, secret: string): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ secret_sealed: seal(ctx.settings.encryption_key, secret) })
    .where(and(eq(jobs.gateway_id, gateway_id), eq(jobs.kind, kind), inArray(jobs.status, ["queued", "running"])));
}

/**
 * Removes the jobs of an organization that is being deleted. Queued clean-ups are kept, because they still have work to do on
 * hosts. Running jobs are kept until they end.
 */
export async function removeOrganizationJobs(ctx: Context, organization_id: string): Promise<void> {
  const waiting = and(eq(jobs.status, "queued"), ne(jobs.kind, "agent.cleanup" satisfies JobKind));
  await ctx.db
    .delete(jobs)
    .where(and(eq(jobs.organization_id, organization_id), or(waiting, inArray(jobs.status, ["done", "dead"]))));
}

/** Counts the jobs by status. A status without jobs is left out. */
export async function countJobs(ctx: Pick<Context, "db">): Promise<Partial<Record<JobRow["status"], number>>> {
  const rows = await ctx.db.select({ status: jobs.status, total: count() }).from(jobs).groupBy(jobs.status);
  return Object.fromEntries(rows.map(({ status, total }) => [status, total]));
}

/** Counts the queued and the running jobs, without reading jobs that have ended. */
export async function countOpenJobs(ctx: Pick<Context, "db">): Promise<Partial<Record<JobRow["status"], number>>> {
  const rows = await ctx.db
    .select({ status: jobs.status, total: count() })
    .from(jobs)
    .where(inArray(jobs.status, ["queued", "running"]))
    .groupBy(jobs.status);
  return Object.fromEntries(rows.map(({ status, total }) => [status, total]));
}

/** Lists the jobs with a status for operators, newest first. */
export function listJobs(ctx: Pick<Context, "db">, status: JobRow["status"], limit = 100): Promise<JobRow[]> {
  return ctx.db.select().from(jobs).where(eq(jobs.status, status)).orderBy(desc(jobs.seq)).limit(limit);
}
