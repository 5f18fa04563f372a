import { and, eq, lte, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { type CircuitRow, endTrial, startTrial } from "./circuit.ts";
import { gateway_circuits } from "../schema/gateway-circuit.sql.ts";
import { type HeldBy, jobs } from "../schema/job.sql.ts";
import type { JobRow } from "./job.ts";
import { markUnsent } from "./relay.ts";
import { CIRCUIT_FREE_KINDS, type JobKind, type JobRetryPolicy, remainingRetryMs, RETRY_POLICIES } from "./kinds.ts";
import { hasStatus, isLaneHead } from "./lane.ts";
import { leaseJob } from "./lease.ts";
import { freeSlotsWithin, hasFreeSlots, type SlotLimits, slotLimits } from "./slots.ts";

/**
 * The first wait of a job for a slot, in milliseconds. A slot that becomes free wakes a waiting job at once, but that wake-up may
 * be lost, so the job also tries again after this time.
 */
const FIRST_POLL_MS = 2_000;
/**
 * The first wait of a delivery for a slot, in milliseconds. A receiver that does not answer occupies a slot for this long.
 * Thousands of deliveries that try earlier would keep the database busy without getting a slot.
 */
const FIRST_DELIVERY_POLL_MS = 15_000;
const MAX_POLL_MS = 5 * 60_000;
/** The jitter of a wait, as a fraction of the wait, so that jobs that wait for the same host do not all return at once. */
const JITTER = 0.25;

/** What happens to a job that could not be leased after its wake-up. */
export type Unleased =
  | { outcome: "leased"; job: JobRow; trial_until: Date | null }
  /** The job has waited for its host as long as all its retries would have taken. */
  | { outcome: "expired"; job: JobRow; reason: string }
  | { outcome: "waiting" };

const WAITING: Unleased = { outcome: "waiting" };

const findDue = preparedQuery((db, ...limits: SlotLimits) =>
  db
    .select({ job: jobs, circuit: gateway_circuits, ...freeSlotsWithin(limits) })
    .from(jobs)
    .leftJoin(gateway_circuits, eq(gateway_circuits.gateway_id, jobs.gateway_id))
    .where(
      and(
        eq(jobs.id, sql.placeholder("id")),
        hasStatus("queued"),
        lte(jobs.run_at, sql`${sql.placeholder("now")}::timestamptz`),
        isLaneHead,
      ),
    ),
);

/**
 * Finds out why a job could not be leased. If only its host or a slot is missing, the job is held, which does not count as an
 * attempt. If the circuit of its gateway is due for a trial, this job becomes the trial.
 */
export async function resolveUnleased(ctx: Context, id: string): Promise<Unleased> {
  const [found] = await findDue(ctx.db, ...slotLimits(ctx)).execute({ id, now: ctx.now().toISOString() });
  if (!found) {
    // The job is not due, is not the head of its lane, or is leased, perhaps by a worker that has crashed. The relay sends another
    // wake-up when the job can be leased.
    await markUnsent(ctx, [id]);
    return WAITING;
  }
  const { job, organization_free, gateway_free, subscription_free } = found;
  const circuit = CIRCUIT_FREE_KINDS.includes(job.kind as JobKind) ? null : found.circuit;
  if (circuit && circuit.retry_at > ctx.now()) {
    // A trial that is running may succeed, so no job is given up before the trial ends.
    if (!circuit.half_open && job.give_up_at && job.give_up_at <= ctx.now())
      return { outcome: "expired", job, reason: toReason(ctx, circuit) };
    return holdJob(ctx, job, "circuit", circuit.retry_at.getTime() - ctx.now().getTime());
  }
  if (!organization_free || !gateway_free) return holdForSlot(ctx, job, gateway_free ? "organization" : "gateway");
  if (!subscription_free) return holdForSlot(ctx, job, "subscription");
  return circuit ? runTrial(ctx, job, circuit.gateway_id) : leaseAgain(ctx, job);
}

/** Tries to lease the job once more, because the slot or the lane may have become free in the meantime. */
async function leaseAgain(ctx: Context, { id }: JobRow): Promise<Unleased> {
  const job = await leaseJob(ctx, id);
  if (job) return { outcome: "leased", job, trial_until: null };
  await markUnsent(ctx, [id]);
  return WAITING;
}

async function runTrial(ctx: Context, { id }: JobRow, gateway_id: string): Promise<Unleased> {
  const trial_until = await startTrial(ctx, gateway_id);
  const job = trial_until && (await leaseJob(ctx, id, { is_trial: true }));
  if (job) return { outcome: "leased", job, trial_until };
  if (trial_until) await endTrial(ctx, gateway_id, trial_until);
  await markUnsent(ctx, [id]);
  return WAITING;
}

function toReason(ctx: Context, { created_at, last_error }: CircuitRow): string {
  const down_seconds = Math.round((ctx.now().getTime() - created_at.getTime()) / 1000);
  return `Gateway unreachable for ${down_seconds} s. Last error: ${last_error}`;
}

/** Returns when the last attempt would take place if all remaining attempts were made from now on and failed immediately. */
function giveUpAt(ctx: Context, { kind, attempts, max_attempts }: JobRow): Date | null {
  const policy = RETRY_POLICIES[kind as JobKind] as JobRetryPolicy | undefined;
  return policy ? new Date(ctx.now().getTime() + remainingRetryMs({ ...policy, attempts: max_attempts }, attempts)) : null;
}

/** Returns how long the job waits for its next try: as long as it has already waited, so that the wait doubles each time. */
const pollMs = (ctx: Context, { held_since, subscription_id }: JobRow) =>
  Math.min(
    MAX_POLL_MS,
    Math.max(
      subscription_id === null ? FIRST_POLL_MS : FIRST_DELIVERY_POLL_MS,
      held_since ? ctx.now().getTime() - held_since.getTime() : 0,
    ),
  );

/**
 * Marks the job as held, then checks the slots again. Otherwise the job would not be woken if the slot became free between the
 * first check and the mark.
 */
async function holdForSlot(ctx: Context, job: JobRow, held_by: HeldBy): Promise<Unleased> {
  const held = await holdJob(ctx, job, held_by, pollMs(ctx, job));
  await wakeIfFree(ctx.db, ...slotLimits(ctx)).execute({ id: job.id, attempts: job.attempts, now: ctx.now() });
  return held;
}

const wakeIfFree = preparedQuery((db, ...limits: SlotLimits) =>
  db
    .update(jobs)
    .set({ run_at: sql`${sql.placeholder("now")}`, held_by: null })
    .where(
      and(
        eq(jobs.id, sql.placeholder("id")),
        hasStatus("queued"),
        eq(jobs.attempts, sql.placeholder("attempts")),
        hasFreeSlots(limits),
      ),
    ),
);

async function holdJob(ctx: Context, job: JobRow, held_by: HeldBy, wait_ms: number): Promise<Unleased> {
  const now = ctx.now();
  const held = await ctx.db
    .update(jobs)
    .set({
      held_by,
      held_since: job.held_by === held_by ? job.held_since : now,
      give_up_at: job.give_up_at ?? (held_by === "circuit" ? giveUpAt(ctx, job) : null),
      run_at: new Date(now.getTime() + wait_ms * (1 + JITTER * Math.random())),
      sent_at: null,
    })
    .where(isStillQueued(job))
    .returning({ id: jobs.id });
  if (held.length > 0) addPendingWakeup(ctx.pendingWakeups, job);
  return WAITING;
}

/** Returns the condition that nobody has leased, claimed or ended the job since it was read. */
export const isStillQueued = (job: JobRow) => and(eq(jobs.id, job.id), hasStatus("queued"), eq(jobs.attempts, job.attempts));
