import { hasPendingWakeups } from "@board/core/context/pending-wakeups";
import { runScheduled, scheduled } from "@board/api/work/schedules";
import * as z from "zod";
import { meter, relayJobs, createSystemContext } from "./runtime.ts";

const ScheduleEvent = z.object({ schedule: z.enum(Object.keys(scheduled) as (keyof typeof scheduled)[]) });

/** Runs the schedule that the event names. */
export async function handler(event: unknown): Promise<void> {
  const ctx = createSystemContext();
  try {
    await runScheduled(ctx, ScheduleEvent.parse(event).schedule);
    if (hasPendingWakeups(ctx.pendingWakeups)) await relayJobs(ctx);
  } finally {
    await meter.flush();
  }
}
