import type { System } from "./actor.ts";
import type { Context } from "./context.ts";
import { deliver } from "./deliver.ts";
import { JobCrashed } from "./job/runner.ts";
import { errorText } from "./log.ts";

/**
 * Handles one message of the queue, which names a job. The queue must deliver it again when the job crashed, which `runJob`
 * has logged, or was not taken, for example because the database is unreachable.
 */
export async function deliverMessage(ctx: Context<System>, job_id: string): Promise<"handled" | "crashed" | "not_taken"> {
  try {
    await deliver(ctx, job_id);
    return "handled";
  } catch (error) {
    if (error instanceof JobCrashed) return "crashed";
    ctx.log.error("jobs.consume_failed", errorText(error), { job_id });
    return "not_taken";
  }
}
