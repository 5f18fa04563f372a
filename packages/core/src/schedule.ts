import { removeOldEvents } from "./activity/remove.ts";
import { countNewEvents } from "./activity/sweep.ts";
import type { System } from "./actor.ts";
import { sweepAgents } from "./agent/sweep.ts";
import type { Context } from "./context.ts";
import { enqueueProbes } from "./gateway/probe.ts";
import { removeOldTurns } from "./gateway/turn.ts";
import { removeOldJobs } from "./job/job.ts";
import { removeOldCounters } from "./rate.ts";
import { removeOldPackSyncs } from "./skill/run.ts";
import { startDueSyncs } from "./template/due.ts";
import { removeOldRuns } from "./template/run.ts";

/** What runs by the clock. `relay` only asks its edge to relay: for jobs that a crash or a broken queue left behind. */
export const scheduled = {
  async relay(ctx: Context<System>) {
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
