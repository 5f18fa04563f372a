import { and, count, desc, eq, inArray, lt, ne, or, type SQL, sql } from "drizzle-orm";
import { type Context, inTransaction } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { errorText } from "../log.ts";
import { createOutbox, note, type Outbox } from "../outbox.ts";
import { inPlan } from "../page.ts";
import { seal } from "../seal.ts";
import { type JobKind, type JobPayloads, POLICIES, type QueueName, queueOf } from "./kinds.ts";
import { jobs } from "./job.sql.ts";

export type JobRow = typeof jobs.$inferSelect;

/** SQS delays a message by at most 15 minutes; what is due later waits for the sweep. */
const HORIZON_MS = 15 * 60_000;
/** A wake-up that led to nothing for this long is taken as lost, and another one is sent. */
const LOST_MS = 30 * 60_000;
const KEEP_DONE_MS = 7 * 86_400_000;
const KEEP_DEAD_MS = 30 * 86_400_000;

export interface EnqueueOptions {
  organization_id: string;
  gateway_id?: string | null;
  /** Jobs of one lane run one after the other, in the order of enqueueing. */
  lane?: string;
  /** At most one live job has this key; a second one is dropped. */
  dedupe_key?: string;
  run_at?: Date;
  /** Kept sealed, and erased when the job ends. */
  secret?: string;
}

/**
 * Stores a job in the caller's transaction: it exists exactly when the change it belongs to does. Refuses to run outside
 * of one, because a job enqueued "after commit" is lost by a crash in between.
 */
export async function enqueue<K extends JobKind>(
  ctx: Context,
  kind: K,
  payload: JobPayloads[K],
  options: EnqueueOptions,
): Promise<void> {
  if (!inTransaction(ctx)) throw new Error(`enqueue("${kind}") outside a transaction`);
  await newJob(ctx, kind, payload, options);
}

/** The same for several, in one statement: within a lane they run in this order. */
export async function enqueueAll(ctx: Context, wanted: readonly NewJob[]): Promise<void> {
  if (!inTransaction(ctx)) throw new Error("enqueueAll outside a transaction");
  if (wanted.length > 0) await newJobs(ctx, wanted);
}

/** A job that is still to be put. */
export interface NewJob<K extends JobKind = JobKind> {
  kind: K;
  payload: JobPayloads[K];
  options: EnqueueOptions;
}

/** The insert of a job, for `writeTogether`. Nothing is stored before it runs. */
export const newJob = <K extends JobKind>(ctx: Context, kind: K, payload: JobPayloads[K], options: EnqueueOptions) =>
  newJobs(ctx, [{ kind, payload, options }]);

/** The same for several: within a lane they run in this order. */
export const newJobs = (ctx: Context, wanted: readonly NewJob[]) =>
  ctx.db
    .insert(jobs)
    .values(wanted.map((job) => toRow(ctx, job)))
    .onConflictDoNothing();

function toRow(ctx: Context, { kind, payload, options }: NewJob): typeof jobs.$inferInsert {
  const id = crypto.randomUUID();
  note(ctx.outbox, { id, lane: options.lane ?? null });
  return {
    id,
    kind,
    payload,
    lane: options.lane ?? null,
    organization_id: options.organization_id,
    gateway_id: options.gateway_id ?? null,
    dedupe_key: options.dedupe_key ?? null,
    secret_sealed: options.secret === undefined ? null : seal(ctx.settings.encryption_key, options.secret),
    run_at: options.run_at ?? ctx.now(),
    trace_id: ctx.trace_id,
    max_attempts: POLICIES[kind].attempts,
  };
}

/** Gives a secret to the live jobs of a kind that need a gateway which is about to go. */
export async function sealIntoJobs(ctx: Context, kind: JobKind, gateway_id: string, secret: string): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ secret_sealed: seal(ctx.settings.encryption_key, secret) })
    .where(and(eq(jobs.gateway_id, gateway_id), eq(jobs.kind, kind), inArray(jobs.status, ["queued", "running"])));
}

/**
 * Removes what an organization that is going has in the table. Clean-ups on its hosts are still to be done, and what runs
 * just now ends by itself.
 */
export async function dropJobs(ctx: Context, organization_id: string): Promise<void> {
  const waiting = and(eq(jobs.status, "queued"), ne(jobs.kind, "agent.cleanup" satisfies JobKind));
  await ctx.db
    .delete(jobs)
    .where(and(eq(jobs.organization_id, organization_id), or(waiting, inArray(jobs.status, ["done", "dead"]))));
}

/** A wake-up for the queue: the id of a job, nothing of its content. */
export interface WakeUp {
  id: string;
  /** Fairness between tenants in the queue; null for what belongs to none any more. */
  organization_id: string | null;
  delay_seconds: number;
  queue: QueueName;
}

/**
 * The job that a lane is at: the one that runs, else the first that waits. One can get in front of a running one, since
 * numbers are drawn before their transactions commit and dead jobs come back by redriving; it waits all the same.
 */
export const headOf = (lane: SQL) => sql`coalesce(
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'running'),
  (select other.id from ${jobs} as other where other.lane = ${lane} and other.status = 'queued' order by other.seq limit 1))`;

/** The job is the one that its lane is at, or stands in none. */
export const headOfLane = sql`(${jobs.lane} is null or ${jobs.id} = ${headOf(sql`${jobs}.lane`)})`;

/** When the job can next be taken: a running one once its lease is over. */
const dueAt = sql`case when ${jobs.status} = 'running' then ${jobs.lease_until} else ${jobs.run_at} end`;

/** How many wake-ups a relay takes at a time: as many as the queue takes in one batch. */
const RELAY_BATCH = 10;

export type Send = (wakeUps: WakeUp[]) => Promise<{ failed: string[] }>;

/**
 * Relays until there is nothing left in the outbox's scope, the queue takes no more, or so many batches were sent: what is
 * left is found by the sweep.
 */
export async function relayAll(ctx: Context, send: Send, scope: Outbox, most_batches = Number.POSITIVE_INFINITY): Promise<void> {
  for (let batch = 0; batch < most_batches; batch++) if ((await relay(ctx, send, scope)) < RELAY_BATCH) return;
}

/**
 * Sends wake-ups for due jobs that have none on the way; returns how many the queue took. The stamp is committed before
 * sending, so that no transaction waits for the queue: what the queue refuses is unstamped, what a crash swallows is
 * found by the sweep. Several relays at once share the work.
 */
export async function relay(ctx: Context, send: Send, scope: Outbox = createOutbox(true)): Promise<number> {
  const now = ctx.now();
  const found = await ctx.db.execute(sql`
    update ${jobs} set sent_at = ${now.toISOString()}::timestamptz
    where id in (
      select id from ${jobs}
      where status in ('queued', 'running')
        and (sent_at is null or greatest(sent_at, ${dueAt}) < ${new Date(now.getTime() - LOST_MS).toISOString()}::timestamptz)
        and ${dueAt} <= ${new Date(now.getTime() + HORIZON_MS).toISOString()}::timestamptz
        and ${scope.everything ? headOfLane : inScope(scope)}
      order by seq limit ${inPlan(RELAY_BATCH)} for update skip locked)
    returning id, kind, organization_id,
      greatest(0, ceil(extract(epoch from ${dueAt} - ${now.toISOString()}::timestamptz)))::int as delay_seconds`);
  const rows = rowsOf<Omit<WakeUp, "queue"> & { kind: string }>(found);
  const wakeUps = rows.map(({ kind, ...wakeUp }): WakeUp => ({ ...wakeUp, queue: queueOf(kind) }));
  if (wakeUps.length === 0) return 0;
  const failed = await send(wakeUps).then(
    (result) => result.failed,
    (error: unknown) => {
      ctx.log.warn("jobs.relay_failed", "The queue did not take wake-ups; they are sent again later", {
        error: errorText(error),
      });
      return wakeUps.map((wakeUp) => wakeUp.id);
    },
  );
  if (failed.length > 0) await unsend(ctx, inArray(jobs.id, failed));
  return wakeUps.length - failed.length;
}

/** The jobs of the scope: those it names, and the head of each lane. */
const inScope = ({ ids, lanes }: Outbox) =>
  ids.size === 1 && lanes.size === 0
    ? sql`id = ${[...ids][0]}`
    : sql`id in (
  select unnest(${sql.param([...ids])}::uuid[])
  union all
  select ${headOf(sql`wanted.lane`)} from unnest(${sql.param([...lanes])}::text[]) as wanted(lane))`;

/** Forgets that wake-ups were sent, for the matching live jobs, and notes them for the next relay. */
export async function unsend(ctx: Context, which: SQL): Promise<void> {
  const live = await ctx.db
    .update(jobs)
    .set({ sent_at: null })
    .where(and(which, inArray(jobs.status, ["queued", "running"])))
    .returning({ id: jobs.id, lane: jobs.lane });
  for (const job of live) note(ctx.outbox, job);
}

/**
 * For a process whose queue is its own memory: what an earlier run had sent is gone. `alone` says that no other process
 * works on this database, so that the leases of the earlier run end at once instead of running out.
 */
export async function recoverJobs(ctx: Context, options: { alone: boolean }): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ sent_at: null, ...(options.alone ? { lease_until: ctx.now() } : {}) })
    .where(inArray(jobs.status, ["queued", "running"]));
}

/** How many jobs there are in each state that has any. */
export async function countJobs(ctx: Pick<Context, "db">): Promise<Partial<Record<JobRow["status"], number>>> {
  const rows = await ctx.db.select({ status: jobs.status, total: count() }).from(jobs).groupBy(jobs.status);
  return Object.fromEntries(rows.map(({ status, total }) => [status, total]));
}

/** Jobs for the operator's eye, newest first. */
export function listJobs(ctx: Pick<Context, "db">, status: JobRow["status"], limit = 100): Promise<JobRow[]> {
  return ctx.db.select().from(jobs).where(eq(jobs.status, status)).orderBy(desc(jobs.seq)).limit(limit);
}

/** Gives dead jobs a new life with all their attempts; returns their ids. Without `ids`: every dead one. */
export async function redriveJobs(ctx: Pick<Context, "db" | "now" | "outbox">, ids?: string[]): Promise<string[]> {
  // A key that a live job holds, or that several dead ones share, is given to one of them only.
  const keyIsFree = sql`(${jobs}.dedupe_key is null or not exists (
    select 1 from ${jobs} as twin where twin.dedupe_key = ${jobs}.dedupe_key and twin.id <> ${jobs}.id
      and (twin.status in ('queued', 'running') or (twin.status = 'dead' and twin.seq > ${jobs}.seq))))`;
  const revived = await ctx.db
    .update(jobs)
    .set({ status: "queued", attempts: 0, crashes: 0, run_at: ctx.now(), sent_at: null, lease_until: null, finished_at: null })
    .where(and(eq(jobs.status, "dead"), ids ? inArray(jobs.id, ids) : undefined, keyIsFree))
    .returning({ id: jobs.id });
  if (revived.length === 0) return [];
  ctx.outbox.everything = true;
  return revived.map((job) => job.id);
}

/** Removes ended jobs whose time is over. */
export async function removeOldJobs(ctx: Context): Promise<void> {
  const before = (age: number) => new Date(ctx.now().getTime() - age);
  await ctx.db
    .delete(jobs)
    .where(
      or(
        and(eq(jobs.status, "done"), lt(jobs.finished_at, before(KEEP_DONE_MS))),
        and(eq(jobs.status, "dead"), lt(jobs.finished_at, before(KEEP_DEAD_MS))),
      ),
    );
}
