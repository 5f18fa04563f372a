import { randomUUID } from "node:crypto";
import { and, eq, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { violatedUniqueIndex } from "../db/query-error.ts";
import { undoIfConnectionLost } from "../db/retry-unavailable.ts";
import { type Prepared, preparedQuery, type Values } from "../db/prepared.ts";
import { errorText } from "../values/log.ts";
import { gateway_circuits } from "../schema/gateway-circuit.sql.ts";
import { type JobRow, LEASE_MS } from "./job.ts";
import { jobs } from "../schema/job.sql.ts";
import { CIRCUIT_FREE_KINDS, QUEUE_BY_KIND } from "./kinds.ts";
import { hasStatus, isLaneHead, laneHead } from "./lane.ts";
import { freedSlots, hasFreeSlots, isSlotCollision, type SlotLimits, slotLimits, takenSlots } from "./slots.ts";

/** How often a lease is retried after another worker has taken the same slot at the same time. */
const MAX_COLLISIONS = 5;

/** Returns kinds as SQL literals. With kinds as parameters, the server could not keep one plan. */
const namesOf = (kinds: readonly string[]) => sql.raw(kinds.map((kind) => `'${kind}'`).join(", "));

/**
 * Whether the circuit of the gateway allows the job. A job that is taken over from a crashed worker may run even if the circuit is
 * open, because its attempt shows whether the host is up.
 */
const isCircuitClosed = sql`(${jobs}.status = 'running' or ${jobs}.kind in (${namesOf(CIRCUIT_FREE_KINDS)})
  or not exists (select 1 from ${gateway_circuits} where ${gateway_circuits}.gateway_id = ${jobs}.gateway_id))`;

const isOfDeliveries = sql`${jobs}.kind not in (${namesOf(Object.keys(QUEUE_BY_KIND))})`;

const now = sql`${sql.placeholder("now")}::timestamptz`;

/** Whether a job is due. It uses `case` for the same reason as `hasStatus`. */
const isDue = sql`case ${jobs.status} when 'queued' then ${jobs.run_at} <= ${now}
  when 'running' then ${jobs.lease_until} <= ${now} else false end`;

/** Returns the column values for a job that starts to run. */
const leaseValues = (limits: SlotLimits) => ({
  status: "running" as const,
  attempts: sql`${jobs.attempts} + 1`,
  // A running job can only be leased if its lease has expired, which means that its worker exited.
  crashes: sql`${jobs.crashes} + case when ${jobs.status} = 'running' then 1 else 0 end`,
  lease_until: sql`${sql.placeholder("lease_until")}::timestamptz`,
  lease_token: sql`${sql.placeholder("token")}::uuid`,
  held_by: null,
  held_since: null,
  ...takenSlots(limits),
});

/** Creates the statement that leases a job. It is prepared, because every job runs it and building its long SQL takes time. */
const prepareLease = (mayTryHost: SQL) =>
  preparedQuery((db, ...limits: SlotLimits) =>
    db
      .update(jobs)
      .set(leaseValues(limits))
      .where(and(eq(jobs.id, sql.placeholder("id")), isDue, isLaneHead, mayTryHost, hasFreeSlots(limits)))
      .returning(),
  );
const leaseInTurn = prepareLease(isCircuitClosed);
const leaseForTrial = prepareLease(sql`true`);

/**
 * Leases the head of a lane that got no wake-up. `sent_at` stays null, so that the relay sends a wake-up after the lease has
 * expired if this worker crashes.
 */
const leaseHeadInTurn = preparedQuery((db, ...limits: SlotLimits) =>
  db
    .update(jobs)
    .set(leaseValues(limits))
    .where(
      and(
        sql`${jobs.id} = (${laneHead(sql`${sql.placeholder("lane")}::text`)})`,
        sql`case when ${jobs.status} = 'queued' then ${jobs.sent_at} is null and ${jobs.run_at} <= ${now} else false end`,
        isOfDeliveries,
        isCircuitClosed,
        hasFreeSlots(limits),
      ),
    )
    .returning(),
);

/**
 * Leases a job that is due, is the head of its lane, and is within the budgets of its organization and gateway. While the circuit
 * of its gateway is open, a job can only be leased as the circuit's trial.
 */
export function leaseJob(ctx: Context, id: string, { is_trial = false } = {}): Promise<JobRow | undefined> {
  const lease = (is_trial ? leaseForTrial : leaseInTurn)(ctx.db, ...slotLimits(ctx));
  return runLease(ctx, lease, { id }, eq(jobs.id, id));
}

/**
 * Leases the head of a lane without a wake-up, for a process with a queue in memory. The head must be a job that `leaseJob` would
 * lease, belong to the queue `deliveries`, and have no wake-up yet.
 */
export function leaseHead(ctx: Context, lane: string): Promise<JobRow | undefined> {
  return runLease(ctx, leaseHeadInTurn(ctx.db, ...slotLimits(ctx)), { lane }, eq(jobs.lane, lane));
}

async function runLease(ctx: Context, lease: Prepared<JobRow[]>, which: Values, isLeased: SQL): Promise<JobRow | undefined> {
  const token = randomUUID();
  for (let collisions = 0; collisions < MAX_COLLISIONS; collisions++) {
    const leased_at = ctx.now();
    const lease_until = new Date(leased_at.getTime() + LEASE_MS).toISOString();
    try {
      const [job] = await undoIfConnectionLost(
        () => lease.execute({ ...which, now: leased_at.toISOString(), lease_until, token }),
        () => returnLease(ctx, isLeased, token),
      );
      return job;
    } catch (error) {
      const index = violatedUniqueIndex(error);
      // Another worker has just leased a different job of the lane, so this job is not leased.
      if (index === "jobs_running") return undefined;
      if (!isSlotCollision(index)) throw error;
    }
  }
  return undefined;
}

/** Undoes a lease whose answer was lost together with the connection. Otherwise the lane would wait until the lease expires. */
async function returnLease(ctx: Context, isLeased: SQL, token: string): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ status: "queued", attempts: sql`${jobs.attempts} - 1`, ...freedSlots })
    .where(and(isLeased, hasStatus("running"), eq(jobs.lease_token, token)));
}

/**
 * Returns the condition that this attempt still holds its lease. The attempt number cannot identify the attempt, because a
 * redrive resets the number to zero.
 */
export const isOwnLease = ({ id, lease_token }: { id: string | Placeholder; lease_token: string | Placeholder | null }) =>
  and(eq(jobs.id, id), hasStatus("running"), sql`${jobs.lease_token} = ${lease_token}`);

export async function renewLease(ctx: Context, job: JobRow): Promise<void> {
  await ctx.db
    .update(jobs)
    .set({ lease_until: new Date(ctx.now().getTime() + LEASE_MS) })
    .where(isOwnLease(job))
    .catch((error: unknown) => ctx.log.warn("jobs.lease_not_renewed", errorText(error)));
}
