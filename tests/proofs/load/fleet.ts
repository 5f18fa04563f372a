/** Runs processes of the service that are killed at random moments and replaced. */
import { ENVIRONMENT } from "./environment.ts";
import { type ProcessPool, ProcessDied, type Process, type TakeWakeUps } from "./process-pool.ts";
import { pick, type Random } from "./random.ts";
import type { Command } from "./service.ts";

export interface Fleet {
  /** Sends a command to any process. Rejects with ProcessDied when that process dies before it answers. */
  order(order: Exclude<Command, { do: "begin" }>): Promise<unknown>;
  /** Sets the clock of all processes. */
  setClock(ahead_ms: number): Promise<void>;
  /** The number of killed processes. */
  kills(): number;
  /** Unexpected errors that processes reported. */
  readonly errors: string[];
  close(): void;
}

/** Returns the answer of a process, or null if the process died before it answered. */
export async function nullIfDied(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ProcessDied) return null;
    throw error;
  }
}

export async function startFleet(
  crew: ProcessPool,
  take: TakeWakeUps,
  { url, size, mean_life, random }: { url: string; size: number; mean_life: number; random: Random },
): Promise<Fleet> {
  const working: Process[] = [];
  const errors: string[] = [];
  let ahead_ms = 0;
  let deaths = 0;
  let closed = false;

  async function begin(): Promise<void> {
    const process = await crew.take();
    const kill_at = Math.ceil(random() * 2 * mean_life);
    await process.begin({ database_url: url, environment: ENVIRONMENT, ahead_ms, kill_at }, take);
    // A new process does not know the current time.
    await process.order({ do: "clock", ahead_ms });
    working.push(process);
  }

  /** Replaces a dead process. The caller of a lost command has to retry it. */
  async function replaceDead(process: Process): Promise<void> {
    const place = working.indexOf(process);
    if (place < 0) return;
    working.splice(place, 1);
    errors.push(...process.errors);
    deaths += 1;
    if (!closed) await begin();
  }

  async function ask(process: Process, wanted: Exclude<Command, { do: "begin" }>): Promise<unknown> {
    try {
      return await process.order(wanted);
    } catch (error) {
      if (error instanceof ProcessDied) await replaceDead(process);
      throw error;
    }
  }

  await Promise.all(Array.from({ length: size }, begin));
  return {
    errors,
    kills: () => deaths,
    async order(wanted) {
      // All processes may be dead at this moment.
      while (working.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      return ask(pick(random, working), wanted);
    },
    async setClock(to_ms) {
      ahead_ms = to_ms;
      await Promise.all([...working].map((process) => nullIfDied(ask(process, { do: "clock", ahead_ms }))));
    },
    close() {
      if (closed) return;
      closed = true;
      for (const process of working) {
        errors.push(...process.errors);
        process.kill();
      }
    },
  };
}
