import { randomUUID } from "node:crypto";
import { countNewEvents } from "@board/core/activity/counted-events";
import { removeOrphanedFiles } from "@board/core/artifact/retention";
import type { System } from "@board/core/context/actor";
import { isDatabaseUnavailable } from "@board/core/db/query-error";
import { removeOldRows } from "@board/core/db/retention";
import { eraseOldSecrets } from "@board/core/db/rotated-secret";
import { warnOfExpiringKeys } from "@board/core/key/expiry";
import { removeUnusedCounters } from "@board/core/idempotency/retention";
import { sealOldAddresses } from "@board/core/subscription/address";
import { removeDeliveriesBeyondBudget } from "@board/core/subscription/retention";
import { recountPayloadBytes } from "@board/core/webhook/payload-usage";
import { RETENTIONS } from "./retentions.ts";
import { sweepAgents } from "@board/core/agent/sweep";
import type { Context } from "@board/core/context/context";
import { enqueueProbes } from "@board/openclaw/gateway/probe";
import { removeOldConfigLocks } from "@board/openclaw/host/config-lock";
import { readJobAge } from "@board/core/job/queue-age";
import { createScopedLog, errorText, stackFrames } from "@board/core/values/log";
import { countNewTransitions } from "@board/core/metrics/counted-transitions";
import { recountTexts } from "@board/core/organization/text-usage";
import { recordHorizonAge } from "@board/core/stream/horizon";
import { removeExpiredWaits } from "@board/core/inbox/shared-waits";
import { removeGoneProcesses } from "@board/core/process/presence";
import { removeExpiredLeases } from "@board/core/stream/lease-registry";
import { enqueueUsageReads } from "@board/openclaw/usage/enqueue-reads";
import { startDueSyncs } from "@board/openclaw/sync/schedule";
import { expireLeases } from "@board/core/task/lease/lease-expiry";
import { recordAdditions } from "@board/core/run/record-changes";
import { moveOldSteps } from "@board/core/run/steps/move";
import { moveOldBodies } from "@board/core/body-storage/move-bodies";

/**
 * The scheduled work. After a schedule with `relay`, the caller relays all jobs, including those whose wake-up was lost in a
 * crash or queue failure.
 */
export const scheduled = {
  async relay(ctx: Context<System>) {
    // Both metrics are recorded first, even if they are 0, because an alarm treats a missing value like a healthy one.
    ctx.meter.record("JobAge", await readJobAge(ctx));
    await recordHorizonAge(ctx);
    ctx.pendingWakeups.everything = true;
  },
  async lifecycle(ctx: Context<System>) {
    await runAll(ctx, [sweepAgents, expireLeases, recordAdditions, countNewEvents, countNewTransitions, enqueueUsageReads]);
  },
  async probe(ctx: Context<System>) {
    await enqueueProbes(ctx);
  },
  async sync(ctx: Context<System>) {
    await startDueSyncs(ctx);
  },
  async retention(ctx: Context<System>) {
    await runAll(ctx, [
      warnOfExpiringKeys,
      eraseOldSecrets,
      ...Object.values(RETENTIONS).map((retention) => (ctx: Context) => removeOldRows(ctx, retention)),
      removeOldConfigLocks,
      removeGoneProcesses,
      removeExpiredLeases,
      removeExpiredWaits,
      sealOldAddresses,
      removeDeliveriesBeyondBudget,
      removeUnusedCounters,
      recountPayloadBytes,
      recountTexts,
      removeOrphanedFiles,
    ]);
  },
  async bodies(ctx: Context<System>) {
    await runAll(ctx, [moveOldBodies, moveOldSteps]);
  },
};

/** Runs steps one after the other. A step that fails each time must not keep the later steps from running. */
async function runAll(ctx: Context<System>, steps: readonly ((ctx: Context<System>) => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step(ctx);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors);
}

export type ScheduleName = keyof typeof scheduled;

/** Runs one schedule under a new trace, which its jobs inherit. Errors are logged and rethrown. */
export async function runScheduled(ctx: Context<System>, schedule: ScheduleName): Promise<void> {
  const trace_id = randomUUID();
  const log = createScopedLog(ctx.log, { schedule, trace_id });
  try {
    await scheduled[schedule]({ ...ctx, trace_id, log });
  } catch (error) {
    log.error("schedule.failed", errorText(error), { stack: stackFrames(error) });
    throw error;
  }
}
