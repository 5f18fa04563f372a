import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { withDatabaseRetry } from "@board/core/db/retry-unavailable";
import { deliver, deliverLeased } from "./handlers.ts";
import { leaseHead } from "@board/core/job/lease";
import { JobCrashed } from "@board/core/job/runner";
import { errorText } from "@board/core/values/log";

/** How handling a message ended. Unless the outcome is "handled", the queue must deliver the message again. */
export type DeliveryOutcome = "handled" | "crashed" | "not_taken";

/**
 * Handles one message of the queue, which contains the id of a job. The outcome is "crashed" if the job crashed, which `runJob` has
 * logged. It is "not_taken" if, for example, the database cannot be reached.
 */
export const deliverMessage = (ctx: Context<System>, job_id: string): Promise<DeliveryOutcome> =>
  toOutcome(ctx, job_id, () => deliver(ctx, job_id));

/**
 * Runs the first job of a lane without a wake-up, for a process with a queue in memory (see `leaseHead`). Returns null if no job
 * could be leased. The relay then finds the lane's next job.
 */
export async function deliverHead(ctx: Context<System>, lane: string) {
  try {
    const job = await withDatabaseRetry(() => leaseHead(ctx, lane));
    if (!job) return null;
    const { id, organization_id } = job;
    return { job: { id, organization_id }, outcome: await toOutcome(ctx, id, () => deliverLeased(ctx, job)) };
  } catch (error) {
    ctx.log.error("jobs.consume_failed", errorText(error), { lane });
    return null;
  }
}

async function toOutcome(ctx: Context<System>, job_id: string, run: () => Promise<void>): Promise<DeliveryOutcome> {
  try {
    await run();
    return "handled";
  } catch (error) {
    if (error instanceof JobCrashed) return "crashed";
    ctx.log.error("jobs.consume_failed", errorText(error), { job_id });
    return "not_taken";
  }
}
