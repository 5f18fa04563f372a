import { and, eq, inArray, isNotNull, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { addPendingWakeup, createPendingWakeups, type PendingWakeups } from "../context/pending-wakeups.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { undoIfConnectionLost } from "../db/retry-unavailable.ts";
import { jobs } from "../schema/job.sql.ts";
import { errorText } from "../values/log.ts";
import { type QueueName, queueOf } from "./kinds.ts";
import { hasStatus } from "./lane.ts";
import { fewValues, dueInScope, RELAY_BATCH, type RelayScope, toRelayScope } from "./relay-scope.ts";

/**
 * SQS delays a message by at most 15 minutes. If a job is due later, the scheduled relay sends its wake-up when the time comes.
 */
const MAX_DELAY_MS = 15 * 60_000;
/** When a wake-up that had no effect is treated as lost, so that the relay sends another one. */
export interface LostWakeUp {
  after_ms: number;
  /** Whether the time is measured from when the job is due, if the job is due after the wake-up was sent. */
  counts_from_due: boolean;
}
/** A queue keeps a wake-up until its job is due, and may then be slow to deliver it. */
const LOST_IN_QUEUE: LostWakeUp = { after_ms: 30 * 60_000, counts_from_due: true };
/**
 * A process with a queue in memory renews the wake-ups that it holds, so a process that has not done so for this long has ended.
 * The time is short, because another process should run its jobs within a minute.
 */
export const LOST_WITH_PROCESS: LostWakeUp = { after_ms: 40_000, counts_from_due: false };

/** A queue message that makes a consumer try a job. It contains the job's id but nothing from its payload. */
export interface WakeUp {
  id: string;
  /** The group by which the queue serves organizations fairly; null if the organization was deleted. */
  organization_id: string | null;
  delay_seconds: number;
  queue: QueueName;
  /** Used only by queues in memory, which also serve the deliveries of different subscriptions fairly. */
  subscription_id?: string;
  lane?: string;
}

/** When the job can next be leased: for a running job when its lease expires, for an ended job never. */
const dueAt = sql`case ${jobs.status} when 'queued' then ${jobs.run_at} when 'running' then ${jobs.lease_until} end`;

export type Send = (wakeUps: WakeUp[]) => Promise<{ failed: string[] }>;

/**
 * Sends batches of wake-ups until no job of the scope needs one, the queue refuses one, or `max_batches` were sent. The scheduled
 * relay sends the rest.
 */
export async function relayAll(
  ctx: Context,
  send: Send,
  scope: PendingWakeups,
  max_batches = Number.POSITIVE_INFINITY,
  lost: LostWakeUp = LOST_IN_QUEUE,
): Promise<void> {
  for (let batch = 0; batch < max_batches; batch++) if ((await relay(ctx, send, scope, lost)) < RELAY_BATCH) return;
}

/**
 * Sends wake-ups for due jobs without one, and returns how many the queue accepted. `sent_at` is committed before sending, so that
 * no transaction waits for the queue. If sending fails, `sent_at` is cleared. After a crash, the wake-up eventually counts as
 * lost.
 */
export async function relay(
  ctx: Context,
  send: Send,
  scope: PendingWakeups = createPendingWakeups(true),
  lost: LostWakeUp = LOST_IN_QUEUE,
): Promise<number> {
  const now = ctx.now();
  const [ids, lanes] = [[...scope.ids], [...scope.lanes]];
  const values = {
    now: now.toISOString(),
    lost_before: new Date(now.getTime() - lost.after_ms).toISOString(),
    counts_from_due: lost.counts_from_due,
    due_until: new Date(now.getTime() + MAX_DELAY_MS).toISOString(),
    id: ids[0] ?? null,
    lane: lanes[0] ?? null,
    ids,
    lanes,
    ...fewValues(scope),
  };
  const take = takeUnsent(ctx.db, toRelayScope(scope));
  // If the connection is lost before the answer, the jobs are marked as sent but get no wake-up. The mark is then cleared, so that
  // they are sent again now, and not only after the wake-up is treated as lost.
  const result = await undoIfConnectionLost(
    () => take.execute(values),
    () => clearSent(ctx, and(eq(jobs.sent_at, now), inArray(jobs.status, ["queued", "running"]))!),
  );
  const wakeUps = rowsOf<UnsentJob>(result).map(
    ({ kind, subscription_id, lane, ...wakeUp }): WakeUp => ({
      ...wakeUp,
      queue: queueOf(kind),
      ...(subscription_id === null ? {} : { subscription_id }),
      ...(lane === null ? {} : { lane }),
    }),
  );
  if (wakeUps.length === 0) return 0;
  const failed = await send(wakeUps).then(
    (result) => result.failed,
    (error: unknown) => {
      ctx.log.warn("jobs.relay_failed", "The queue refused wake-ups; the scheduled relay sends them again", {
        error: errorText(error),
      });
      return wakeUps.map((wakeUp) => wakeUp.id);
    },
  );
  if (failed.length > 0) await markUnsent(ctx, failed);
  return wakeUps.length - failed.length;
}

interface UnsentJob extends Pick<WakeUp, "id" | "organization_id" | "delay_seconds"> {
  kind: string;
  subscription_id: string | null;
  lane: string | null;
}

const timeOf = (name: string) => sql`${sql.placeholder(name)}::timestamptz`;

/**
 * Whether a wake-up had no effect. A live worker renews the lease of its job, so a running job needs a wake-up only once its
 * lease has expired.
 */
const isLost = sql`case when status = 'running'
  then sent_at < ${timeOf("lost_before")} and lease_until < ${timeOf("now")}
  when ${sql.placeholder("counts_from_due")}::boolean then greatest(sent_at, run_at) < ${timeOf("lost_before")}
  else sent_at < ${timeOf("lost_before")} end`;

const takeUnsent = preparedQuery(
  (_db, scope: RelayScope) => sql`
    update ${jobs} set sent_at = ${timeOf("now")}
    where id in (${dueInScope[scope](sql`
        (sent_at is null or ${isLost})
        and ${dueAt} <= ${timeOf("due_until")}`)})
    returning id, kind, organization_id, subscription_id, lane,
      greatest(0, ceil(extract(epoch from ${dueAt} - ${timeOf("now")})))::int as delay_seconds`,
);

/**
 * Returns the condition for these jobs. All ids are passed as one parameter, because a process may hold more wake-ups than a
 * statement can have parameters.
 */
const isOneOf = (ids: readonly string[]) =>
  and(sql`${jobs.id} = any(${sql.param([...ids])}::uuid[])`, hasStatus("queued", "running"))!;

/** Clears `sent_at` of queued and running jobs, so that the next relay sends them a new wake-up. */
export const markUnsent = (ctx: Context, ids: readonly string[]): Promise<void> => clearSent(ctx, isOneOf(ids));

/**
 * Renews `sent_at` of jobs whose wake-ups this process still holds. If `sent_at` was cleared in the meantime, it stays cleared.
 */
export async function renewSent(ctx: Context, ids: readonly string[]): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ sent_at: ctx.now() })
    .where(and(isOneOf(ids), isNotNull(jobs.sent_at)));
}

async function clearSent(ctx: Context, which: SQL): Promise<void> {
  const live = await ctx.db.update(jobs).set({ sent_at: null }).where(which).returning({ id: jobs.id, lane: jobs.lane });
  for (const job of live) addPendingWakeup(ctx.pendingWakeups, job);
}

/**
 * Clears `sent_at` of all queued and running jobs when a process with a queue in memory starts, because the messages of the
 * previous process are lost. `alone` means that no other process uses the database, so all leases are made to expire at once.
 */
export async function recoverJobs(ctx: Context, options: { alone: boolean }): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ sent_at: null, ...(options.alone ? { lease_until: ctx.now() } : {}) })
    .where(inArray(jobs.status, ["queued", "running"]));
}
