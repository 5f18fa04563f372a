import { isWaiting } from "@board/core/outbox";
import { scheduled } from "@board/core/schedule";
import * as z from "zod";
import { relayJobs, systemContext } from "./runtime.ts";

const Event = z.object({ schedule: z.enum(Object.keys(scheduled) as (keyof typeof scheduled)[]) });

/** Runs what a schedule asks for. */
export async function handler(event: unknown): Promise<void> {
  const ctx = systemContext();
  await scheduled[Event.parse(event).schedule](ctx);
  if (isWaiting(ctx.outbox)) await relayJobs(ctx);
}
