import type { Context } from "@board/core/context/context";
import { endTurn, renewTurn, takeAbandonedTurns, takeTurn, TURN_RENEW_MS, type Turn } from "@board/core/process/schedule-turn";
import { errorText } from "@board/core/values/log";
import { runScheduled, type ScheduleName } from "@board/api/work/schedules";
import { schedules } from "@board/functions/manifest";
import { Cron } from "croner";
import type { Consumer } from "./consumer.ts";

type System = Context<{ type: "system" }>;

/** How often a process checks for schedules that belong to a process that has ended. */
const LOOK_MS = 10_000;
const MINUTE_MS = 60_000;

export interface Tick {
  name: ScheduleName;
  tick_at: Date;
  every_ms: number;
}

interface SchedulerOptions {
  createContext: () => System;
  requestRelay: Consumer["requestRelay"];
  /** The id of this process if several processes share the database, else null. */
  process_id: string | null;
  /** Called after each scheduled run (tick) in this process. */
  onTick?: (ctx: System, tick: Tick) => Promise<void>;
}

/**
 * Runs the schedules of the manifest. Each scheduled run (tick) takes place in only one process. Returns a function that stops the
 * schedules.
 */
export function startSchedules(options: SchedulerOptions): () => Promise<void> {
  const running = new Set<Promise<void>>();
  const track = (work: Promise<void>): Promise<void> => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };
  const crons = Object.entries(schedules).map(([name, { every_minutes }]) => {
    const pattern = every_minutes < 60 ? `*/${every_minutes} * * * *` : `0 */${every_minutes / 60} * * *`;
    return new Cron(pattern, { protect: true, unref: true }, () => track(runTick(options, name as ScheduleName)));
  });
  const { process_id } = options;
  const look = process_id === null ? undefined : setInterval(() => void track(takeOver(options, process_id)), LOOK_MS).unref();
  return async () => {
    for (const cron of crons) cron.stop();
    clearInterval(look);
    await Promise.all(running);
  };
}

async function runTick(options: SchedulerOptions, name: ScheduleName): Promise<void> {
  const { createContext, process_id } = options;
  // Timers fire a little early or late, but all processes must compute the same time for a scheduled run.
  const tick_at = new Date(Math.round(Date.now() / MINUTE_MS) * MINUTE_MS);
  if (process_id === null) return run(options, name, tick_at);
  const turn = { name, tick_at, process_id };
  const ctx = createContext();
  const isTaken = await takeTurn(ctx, turn).catch((error: unknown) => {
    ctx.log.warn("schedule.not_taken", errorText(error), { schedule: name });
    return false;
  });
  if (isTaken) await runTurn(options, turn);
}

async function takeOver(options: SchedulerOptions, process_id: string): Promise<void> {
  const ctx = options.createContext();
  try {
    for (const turn of await takeAbandonedTurns(ctx, process_id)) {
      ctx.log.warn("schedule.taken_over", "Another process ended during a schedule, so this one runs it", {
        schedule: turn.name,
      });
      await runTurn(options, turn);
    }
  } catch (error) {
    ctx.log.warn("schedule.look_failed", errorText(error));
  }
}

async function runTurn(options: SchedulerOptions, turn: Turn): Promise<void> {
  const ctx = options.createContext();
  const warn = (error: unknown) => ctx.log.warn("schedule.turn_not_stored", errorText(error), { schedule: turn.name });
  const renewal = setInterval(() => void renewTurn(ctx, turn).catch(warn), TURN_RENEW_MS);
  try {
    // A newer version may have stored a schedule that this one does not know.
    if (turn.name in schedules) await run(options, turn.name as ScheduleName, turn.tick_at);
  } finally {
    clearInterval(renewal);
    await endTurn(ctx, turn).catch(warn);
  }
}

async function run({ createContext, requestRelay, onTick }: SchedulerOptions, name: ScheduleName, tick_at: Date): Promise<void> {
  const ctx = createContext();
  // `runScheduled` has logged the error, and the next scheduled run does the work.
  await runScheduled(ctx, name).catch(() => {});
  requestRelay(ctx.pendingWakeups);
  const tick = { name, tick_at, every_ms: schedules[name].every_minutes * MINUTE_MS };
  await onTick?.(ctx, tick).catch((error: unknown) =>
    ctx.log.warn("schedule.tick_not_told", errorText(error), { schedule: name }),
  );
}
