import { and, asc, eq, gt, inArray, isNull, notInArray, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { gateway_circuits } from "../schema/gateway-circuit.sql.ts";
import { jobs } from "../schema/job.sql.ts";
import { CIRCUIT_FREE_KINDS, SYNC_KINDS } from "./kinds.ts";

/** The maximum number of jobs that one call queues again. */
export const MAX_REDRIVEN = 10_000;

/**
 * Whether a dead job can be queued again: only one queued or running job may have a dedupe key. Of several dead jobs with the same
 * key, the latest is queued again.
 */
const isKeyFree = sql`(${jobs}.dedupe_key is null or not exists (
  select 1 from ${jobs} as twin where twin.dedupe_key = ${jobs}.dedupe_key and twin.id <> ${jobs}.id
    and (twin.status in ('queued', 'running') or (twin.status = 'dead' and twin.seq > ${jobs}.seq))))`;

type RedriveContext = Pick<Context, "db" | "now" | "pendingWakeups">;

/** Queues matching dead jobs again. Their attempts start from zero. */
function queueAgain(ctx: RedriveContext, which: SQL | undefined, marks: { revived_at?: Date } = {}) {
  return ctx.db
    .update(jobs)
    .set({
      ...marks,
      status: "queued",
      attempts: 0,
      crashes: 0,
      run_at: ctx.now(),
      sent_at: null,
      lease_until: null,
      finished_at: null,
      give_up_at: null,
      unreachable: false,
    })
    .where(and(eq(jobs.status, "dead"), which, isKeyFree))
    .returning({ id: jobs.id, lane: jobs.lane, gateway_id: jobs.gateway_id });
}

/** Queues dead jobs again with new attempts, and returns their ids. Without a condition, it queues all dead jobs. */
export async function redriveWhere(ctx: RedriveContext, which?: SQL): Promise<string[]> {
  const redriven = await queueAgain(ctx, which);
  if (redriven.length === 0) return [];
  const gateway_ids = [...new Set(redriven.flatMap(({ gateway_id }) => gateway_id ?? []))];
  // Operators redrive jobs after they have fixed the cause, so the hosts may be tried at once.
  await ctx.db
    .update(gateway_circuits)
    .set({ failures: 0, retry_at: ctx.now() })
    .where(inArray(gateway_circuits.gateway_id, gateway_ids));
  ctx.pendingWakeups.everything = true;
  return redriven.map((job) => job.id);
}

export const redriveJobs = (ctx: RedriveContext, ids?: string[]): Promise<string[]> =>
  redriveWhere(ctx, ids && inArray(jobs.id, ids));

/**
 * Kinds that are not revived. A sync has a run that reports the failure, and the user starts another sync. The result of a probe
 * or a wake check is useless later.
 */
const NOT_REVIVED: readonly string[] = [...SYNC_KINDS, ...CIRCUIT_FREE_KINDS];

/**
 * Queues the jobs that died in the last 24 hours because the gateway's host was unreachable. A job is revived only once. Jobs that
 * another transaction is redriving or deleting are skipped. The caller must first queue the `RESUMED_KINDS`.
 */
export async function reviveJobs(ctx: Context, gateway_id: string): Promise<void> {
  const revivable = ctx.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(
      and(
        eq(jobs.gateway_id, gateway_id),
        eq(jobs.status, "dead"),
        eq(jobs.unreachable, true),
        isNull(jobs.revived_at),
        gt(jobs.finished_at, addMs(ctx.now(), -DAY_MS)),
        notInArray(jobs.kind, [...NOT_REVIVED]),
      ),
    )
    .orderBy(asc(jobs.seq))
    .limit(MAX_REDRIVEN)
    .for("no key update", { skipLocked: true });
  const revived = await queueAgain(ctx, inArray(jobs.id, revivable), { revived_at: ctx.now() });
  for (const job of revived) addPendingWakeup(ctx.pendingWakeups, job);
  if (revived.length > 0)
    ctx.log.info("jobs.revived", "Host is back; jobs that died while it was away run again", {
      gateway_id,
      revived: revived.length,
    });
}
