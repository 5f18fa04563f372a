import { isWaiting } from "@board/core/outbox";
import { runScheduled, scheduled } from "@board/core/schedule";
import * as z from "zod";
import { meter, relayJobs, systemContext } from "./runtime.ts";

const Event = z.object({ schedule: z.enum(Object.keys(scheduled) as (keyof typeof scheduled)[]) });

/** Runs what a schedule asks for. */
export async function handler(event: unknown): Promise<void> {
  const ctx = systemContext();
  try {
    await runScheduled(ctx, Event.parse(event).schedule);
    if (isWaiting(ctx.outbox)) await relayJobs(ctx);
  } finally {
    await meter.flush();
  }
}
