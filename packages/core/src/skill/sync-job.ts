import type { JobHandler } from "../job/handler.ts";
import { discoverSkills, toSyncFailure } from "./discover.ts";
import { failPackSync, findOpenPackSync } from "./pack-sync-run.ts";
import { storeSkills } from "./store-skills.ts";

/** Syncs a pack in the background. A failure of the pack or its host is recorded as the error of the run. */
export const packSyncJob: JobHandler<"pack.sync"> = {
  async run(ctx, { run_id }) {
    const open = await findOpenPackSync(ctx, run_id);
    if (!open) return;
    const { pack } = open;
    try {
      const discovered = await discoverSkills(ctx.http, pack);
      return async (ctx) => void (await storeSkills(ctx, { run_id, pack }, discovered));
    } catch (error) {
      const failure = toSyncFailure(error);
      if (!failure) throw error;
      return (ctx) => failPackSync(ctx, run_id, failure.message);
    }
  },
  async onDead(ctx, { run_id }) {
    await failPackSync(ctx, run_id, "The sync was stopped after an internal error of this service");
  },
};
