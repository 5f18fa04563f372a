import { and, eq, inArray, isNotNull, lte, or, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { addPendingWakeup } from "../context/pending-wakeups.ts";
import { gateway_circuits } from "../schema/gateway-circuit.sql.ts";
import { jobs } from "../schema/job.sql.ts";

export type CircuitRow = typeof gateway_circuits.$inferSelect;

/** The wait after the first failure, long enough for a host to restart. It doubles with each further failure. */
const FIRST_WAIT_MS = 2_000;
const MAX_WAIT_MS = 60_000;
/**
 * How long a trial may take. After this time another job may try the host, because the trial job may hang or its process may have
 * been killed.
 */
const TRIAL_MS = 30_000;

const after = (ctx: Context, ms: number) => new Date(ctx.now().getTime() + ms);

/**
 * Finds the gateway's circuit if no job may currently try its host. Returns null if the circuit is closed, or if a job may try now.
 */
export async function findOpenCircuit(ctx: Context, gateway_id: string): Promise<CircuitRow | null> {
  const [circuit] = await ctx.db.select().from(gateway_circuits).where(eq(gateway_circuits.gateway_id, gateway_id));
  return circuit && circuit.retry_at > ctx.now() ? circuit : null;
}

/**
 * Opens the circuit of a gateway whose host a job could not reach, or doubles the wait after a failed trial. Attempts that ran at
 * the same time count as one failure. The caller must have locked the gateway.
 */
export async function openCircuit(
  ctx: Context,
  gateway_id: string,
  { started_at, error: last_error }: { started_at: Date; error: string },
): Promise<void> {
  const values = { failures: 1, retry_at: after(ctx, FIRST_WAIT_MS), changed_at: ctx.now(), last_error, half_open: false };
  const wait = sql`least(${MAX_WAIT_MS}::float8, ${FIRST_WAIT_MS}::float8 * power(2::float8, least(${gateway_circuits.failures}, 20)))`;
  const [circuit] = await ctx.db
    .insert(gateway_circuits)
    .values({ gateway_id, created_at: ctx.now(), ...values })
    .onConflictDoUpdate({
      target: gateway_circuits.gateway_id,
      set: {
        ...values,
        failures: sql`${gateway_circuits.failures} + 1`,
        retry_at: sql`${ctx.now().toISOString()}::timestamptz + make_interval(secs => ${wait} / 1000)`,
      },
      // Attempts that began before the last change of the circuit do not lengthen the wait when they fail.
      setWhere: and(
        lte(gateway_circuits.changed_at, started_at),
        or(gateway_circuits.half_open, lte(gateway_circuits.retry_at, ctx.now())),
      )!,
    })
    .returning({ failures: gateway_circuits.failures });
  if (circuit?.failures !== 1) return;
  ctx.meter.record("CircuitChanges", 1, { state: "open" });
  ctx.log.warn("gateway.circuit_opened", "Host is down; jobs of its gateway wait for it", { gateway_id, error: last_error });
}

/**
 * Closes the circuit of a gateway whose host answered, and queues the jobs that wait for it. The caller must have locked the
 * gateway.
 */
export async function closeCircuit(ctx: Context, gateway_id: string): Promise<void> {
  const [closed] = await ctx.db.delete(gateway_circuits).where(eq(gateway_circuits.gateway_id, gateway_id)).returning();
  if (!closed) return;
  const released = await ctx.db
    .update(jobs)
    .set({ run_at: ctx.now(), sent_at: null, held_by: null, held_since: null })
    .where(and(eq(jobs.gateway_id, gateway_id), eq(jobs.status, "queued"), eq(jobs.held_by, "circuit")))
    .returning({ id: jobs.id, lane: jobs.lane });
  await ctx.db
    .update(jobs)
    .set({ give_up_at: null })
    .where(and(eq(jobs.gateway_id, gateway_id), inArray(jobs.status, ["queued", "running"]), isNotNull(jobs.give_up_at)));
  for (const job of released) addPendingWakeup(ctx.pendingWakeups, job);
  const { failures, created_at } = closed;
  ctx.meter.record("CircuitChanges", 1, { state: "closed" });
  ctx.log.info("gateway.circuit_closed", "Host answers again", {
    gateway_id,
    failures,
    down_seconds: Math.max(0, Math.round((ctx.now().getTime() - created_at.getTime()) / 1000)),
    released: released.length,
  });
}

/**
 * Makes the caller's job the trial of a circuit whose wait is over. Returns the end of the trial, or null if another job is
 * already the trial.
 */
export async function startTrial(ctx: Context, gateway_id: string): Promise<Date | null> {
  const trial_until = after(ctx, TRIAL_MS);
  const started = await ctx.db
    .update(gateway_circuits)
    .set({ retry_at: trial_until, half_open: true, changed_at: ctx.now() })
    .where(and(eq(gateway_circuits.gateway_id, gateway_id), lte(gateway_circuits.retry_at, ctx.now())))
    .returning({ gateway_id: gateway_circuits.gateway_id });
  return started.length > 0 ? trial_until : null;
}

/** Ends a trial that did not call the host, so that the next job can try at once. */
export async function endTrial(ctx: Context, gateway_id: string, trial_until: Date): Promise<void> {
  await ctx.db
    .update(gateway_circuits)
    .set({ retry_at: ctx.now(), half_open: false })
    .where(and(eq(gateway_circuits.gateway_id, gateway_id), eq(gateway_circuits.retry_at, trial_until)));
}
