import type { System } from "./actor.ts";
import type { Context } from "./context.ts";
import { removeOldJobs } from "./job/job.ts";
import { removeOldCounters } from "./rate.ts";

/** What runs by the clock. `relay` only asks its edge to relay: for jobs that a crash or a broken queue left behind. */
export const scheduled = {
  async relay(ctx: Context<System>) {
    ctx.outbox.everything = true;
  },
  async retention(ctx: Context<System>) {
    await removeOldJobs(ctx);
    await removeOldCounters(ctx);
  },
};

export type ScheduleName = keyof typeof scheduled;
