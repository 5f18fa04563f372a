import type { JobHandler } from "../deliver.ts";
import { collectSkills, toFailure } from "./collect.ts";
import { failRun, findOpenRun } from "./run.ts";
import { storeCollected } from "./store.ts";

/** Syncs a pack whose request did not wait for it. A failure of the pack or its host is what the run then tells. */
export const syncPackLater: JobHandler<"pack.sync"> = {
  async run(ctx, { run_id }) {
    const found = await findOpenRun(ctx, run_id);
    if (!found) return;
    const { pack } = found;
    try {
      const collected = await collectSkills(ctx.web, pack);
      return async (ctx) => void (await storeCollected(ctx, { run_id, pack }, collected));
    } catch (error) {
      const failure = toFailure(error);
      if (!failure) throw error;
      return (ctx) => failRun(ctx, run_id, failure.message);
    }
  },
  async failed(ctx, { run_id }) {
    await failRun(ctx, run_id, "The sync was given up after an error of this service");
  },
};
