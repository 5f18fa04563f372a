import { randomUUID } from "node:crypto";
import { removeOldEvents } from "../activity/retention.ts";
import { countNewEvents } from "../activity/count-new-events.ts";
import type { System } from "../context/actor.ts";
import { sweepAgents } from "../agent/sweep.ts";
import type { Context } from "../context/context.ts";
import { removeOldChanges } from "../change/retention.ts";
import { enqueueProbes } from "../gateway/probe.ts";
import { removeOldConfigLocks } from "../host/config-lock.ts";
import { removeOldAnswers } from "../idempotency/retention.ts";
import { removeOldInboxMessages } from "../notification/inbox-message.ts";
import { readJobAge } from "../job/age.ts";
import { removeOldJobs } from "../job/retention.ts";
import { createScopedLog, errorText, stackFrames } from "../values/log.ts";
import { removeOldCounters } from "../db/rate-limit.ts";
import { removeOldPackSyncs } from "../skill/pack-sync-run.ts";
import { countNewTransitions } from "../metrics/count-new-transitions.ts";
import { recountTexts } from "../organization/text-usage.ts";
import { recordHorizonAge } from "../stream/horizon.ts";
import { removeExpiredLeases } from "../stream/lease-registry.ts";
import { removeOldDeliveries } from "../subscription/retention.ts";
import { startDueSyncs } from "../sync/due.ts";
import { removeOldRuns } from "../sync/run.ts";
import { expireLeases } from "../task/lease/lease-expiry.ts";
import { moveOldBodies } from "../body-storage/move-bodies.ts";
import { removeOldPayloads } from "../webhook/retention.ts";

/** The scheduled work. `relay` makes its caller relay all jobs: those whose wake-up a crash or a queue failure lost. */
export const scheduled = {
  async relay(ctx: Context<System>) {
    // Both are recorded first and even when 0, because an alarm cannot tell a missing metric from a healthy one.
    ctx.meter.record("JobAge", await readJobAge(ctx));
    await recordHorizonAge(ctx);
    ctx.pendingWakeups.everything = true;
  },
  async lifecycle(ctx: Context<System>) {
    await sweepAgents(ctx);
    await expireLeases(ctx);
    await countNewEvents(ctx);
    await countNewTransitions(ctx);
  },
  async probe(ctx: Context<System>) {
    await enqueueProbes(ctx);
  },
  async sync(ctx: Context<System>) {
    await startDueSyncs(ctx);
  },
  async retention(ctx: Context<System>) {
    await removeOldJobs(ctx);
    await removeOldCounters(ctx);
    await removeOldConfigLocks(ctx);
    await removeExpiredLeases(ctx);
    await removeOldRuns(ctx);
    await removeOldPackSyncs(ctx);
    await removeOldInboxMessages(ctx);
    await removeOldEvents(ctx);
    await removeOldChanges(ctx);
    await removeOldPayloads(ctx);
    await removeOldDeliveries(ctx);
    await removeOldAnswers(ctx);
    await recountTexts(ctx);
  },
  async bodies(ctx: Context<System>) {
    await moveOldBodies(ctx);
  },
};

export type ScheduleName = keyof typeof scheduled;

/** Runs one schedule under a new trace, which its jobs inherit. Logs an error and rethrows it. */
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
