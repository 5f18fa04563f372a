import { randomUUID } from "node:crypto";
import { and, eq, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { undoIfLost } from "../db/retry-unavailable.ts";
import { preparedQuery } from "../db/prepared.ts";
import { errorText } from "../log.ts";
import { gateway_circuits } from "./circuit.sql.ts";
import { type JobRow, LEASE_MS } from "./job.ts";
import { jobs } from "./job.sql.ts";
import { CIRCUIT_FREE_KINDS } from "./kinds.ts";
import { hasStatus, isLaneHead } from "./lane.ts";
import { freedSlots, hasFreeSlots, isSlotCollision, slotLimits, takenSlots } from "./slots.ts";

/** Attempts to lease a job while other workers take the same slots. */
const MAX_COLLISIONS = 5;

/** A worker that took over a job finds out about its host by itself. */
const isCircuitClosed = sql`(${jobs}.status = 'running' or ${jobs}.kind in (${sql.raw(CIRCUIT_FREE_KINDS.map((kind) => `'${kind}'`).join(", "))})
  or not exists (select 1 from ${gateway_circuits} where ${gateway_circuits}.gateway_id = ${jobs}.gateway_id))`;

const now = sql`${sql.placeholder("now")}::timestamptz`;

/** A `case`, as in `hasStatus`. */
const isDue = sql`case ${jobs.status} when 'queued' then ${jobs.run_at} <= ${now}
  when 'running' then ${jobs.lease_until} <= ${now} else false end`;

/** Prepared, because every job runs it and its text is long. */
const prepareLease = (mayTryHost: SQL) =>
  preparedQuery((db) =>
    db
      .update(jobs)
      .set({
        status: "running",
        attempts: sql`${jobs.attempts} + 1`,
        // The lease of a running job has expired, so its worker has exited.
        crashes: sql`${jobs.crashes} + case when ${jobs.status} = 'running' then 1 else 0 end`,
        lease_until: sql`${sql.placeholder("lease_until")}::timestamptz`,
        lease_token: sql`${sql.placeholder("token")}::uuid`,
        held_by: null,
        held_since: null,
        ...takenSlots,
      })
      .where(and(eq(jobs.id, sql.placeholder("id")), isDue, isLaneHead, mayTryHost, hasFreeSlots))
      .returning(),
  );
const leaseInTurn = prepareLease(isCircuitClosed);
const leaseForTrial = prepareLease(sql`true`);

/**
 * Leases a job that is due, the head of its lane, and within the budgets of its organization and gateway. A job whose
 * gateway has an open circuit is leased only for a trial.
 */
export async function leaseJob(ctx: Context, id: string, { is_trial = false } = {}): Promise<JobRow | undefined> {
  const lease = (is_trial ? leaseForTrial : leaseInTurn)(ctx.db);
  const token = randomUUID();
  for (let collisions = 0; collisions < MAX_COLLISIONS; collisions++) {
    const leased_at = ctx.now();
    const lease_until = new Date(leased_at.getTime() + LEASE_MS).toISOString();
    try {
      const values = { id, now: leased_at.toISOString(), lease_until, token, ...slotLimits(ctx) };
      const [job] = await undoIfLost(
        () => lease.execute(values),
        () => returnLease(ctx, id, token),
      );
      return job;
    } catch (error) {
      const index = violatedUniqueIndex(error);
      // Another worker leased another job of the lane at the same time.
      if (index === "jobs_running") return undefined;
      if (!isSlotCollision(index)) throw error;
    }
  }
  return undefined;
}

/** Undoes a lease whose answer was lost with its connection; otherwise its lane would wait until the lease expires. */
async function returnLease(ctx: Context, id: string, token: string): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ status: "queued", attempts: sql`${jobs.attempts} - 1`, ...freedSlots })
    .where(and(eq(jobs.id, id), hasStatus("running"), eq(jobs.lease_token, token)));
}

/** The fence of this attempt: a worker that leased the job later has raised `attempts`. */
export const isOwnLease = (job: { id: string | Placeholder; attempts: number | Placeholder }) =>
  and(eq(jobs.id, job.id), hasStatus("running"), eq(jobs.attempts, job.attempts));

export async function renewLease(ctx: Context, job: JobRow): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ lease_until: new Date(ctx.now().getTime() + LEASE_MS) })
    .where(isOwnLease(job))
    .catch((error: unknown) => ctx.log.warn("jobs.lease_not_renewed", errorText(error)));
}
