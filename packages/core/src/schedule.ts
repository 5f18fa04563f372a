import { randomUUID } from "node:crypto";
import { removeOldEvents } from "./activity/remove.ts";
import { countNewEvents } from "./activity/sweep.ts";
import type { System } from "./actor.ts";
import { sweepAgents } from "./agent/sweep.ts";
import type { Context } from "./context.ts";
import { enqueueProbes } from "./gateway/probe.ts";
import { removeOldTurns } from "./gateway/turn.ts";
import { readJobAge } from "./job/age.ts";
import { removeOldJobs } from "./job/job.ts";
import { errorText, framesOf, withFields } from "./log.ts";
import { removeOldCounters } from "./rate.ts";
import { removeOldPackSyncs } from "./skill/run.ts";
import { startDueSyncs } from "./template/due.ts";
import { removeOldRuns } from "./template/run.ts";

/** What runs by the clock. `relay` asks its edge to relay: for jobs that a crash or a broken queue left behind. */
export const scheduled = {
  async relay(ctx: Context<System>) {
    // Said before anything can keep it from being said, and as 0 too: a metric that stops coming looks like health.
    ctx.meter.record("JobAge", await readJobAge(ctx));
    ctx.outbox.everything = true;
  },
  async lifecycle(ctx: Context<System>) {
    await sweepAgents(ctx);
    await countNewEvents(ctx);
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
    await removeOldTurns(ctx);
    await removeOldRuns(ctx);
    await removeOldPackSyncs(ctx);
    await removeOldEvents(ctx);
  },
};

export type ScheduleName = keyof typeof scheduled;

/**
 * Runs what a schedule asks for. Each run is a trace of its own, from which the jobs that it makes can be followed back.
 * Throws what the run throws, after it was logged.
 */
export async function runScheduled(ctx: Context<System>, schedule: ScheduleName): Promise<void> {
  const trace_id = randomUUID();
  const log = withFields(ctx.log, { schedule, trace_id });
  try {
    await scheduled[schedule]({ ...ctx, trace_id, log });
  } catch (error) {
    log.error("schedule.failed", errorText(error), { stack: framesOf(error) });
    throw error;
  }
}
