/** Processes of the service that die at random moments, each followed by the next one. */
import { ENVIRONMENT } from "./outside.ts";
import { type Crew, Died, type Process, type Take } from "./processes.ts";
import { pick, type Random } from "./random.ts";
import type { Order } from "./service.ts";

export interface Fleet {
  /** Has any of the processes do something. Rejects with Died when that one dies of it, or of something else meanwhile. */
  order(order: Exclude<Order, { do: "begin" }>): Promise<unknown>;
  /** Tells the time to all of them. */
  setClock(ahead_ms: number): Promise<void>;
  /** How many have died so far. */
  kills(): number;
  /** Unexpected errors that they spoke of. */
  readonly errors: string[];
  close(): void;
}

/** Null when the process that was to answer has died. */
export async function unlessDied(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Died) return null;
    throw error;
  }
}

export async function startFleet(
  crew: Crew,
  take: Take,
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
    // What happened in the meantime it has not heard of.
    await process.order({ do: "clock", ahead_ms });
    working.push(process);
  }

  /** Its place is taken at once by another one; what it was at is for whoever had asked for it. */
  async function bury(process: Process): Promise<void> {
    const place = working.indexOf(process);
    if (place < 0) return;
    working.splice(place, 1);
    errors.push(...process.errors);
    deaths += 1;
    if (!closed) await begin();
  }

  async function ask(process: Process, wanted: Exclude<Order, { do: "begin" }>): Promise<unknown> {
    try {
      return await process.order(wanted);
    } catch (error) {
      if (error instanceof Died) await bury(process);
      throw error;
    }
  }

  await Promise.all(Array.from({ length: size }, begin));
  return {
    errors,
    kills: () => deaths,
    async order(wanted) {
      // All of them may be dead at this moment.
      while (working.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      return ask(pick(random, working), wanted);
    },
    async setClock(to_ms) {
      ahead_ms = to_ms;
      await Promise.all([...working].map((process) => unlessDied(ask(process, { do: "clock", ahead_ms }))));
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
