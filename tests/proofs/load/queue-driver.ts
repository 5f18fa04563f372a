/**
 * Delivers messages from the queue of a chaos run to the processes, many at a time, and sets their clock. When nothing is
 * due, it advances the clock of the service to the next message instead of waiting.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { WakeUp } from "@board/core/job/relay";
import { type Fleet, nullIfDied } from "./fleet.ts";
import { createUnreliableQueue, type UnreliableQueue, type Message } from "./unreliable-queue.ts";
import type { Random } from "./random.ts";

const MAX_CONCURRENT_WAKE_UPS = 16;
/** How far to advance the clock without a message: a lease expires, or a lost wake-up is sent again. */
const IDLE_JUMPS_MS = [61_000, 31 * 60_000];
const RELAY_EVERY_MS = 60_000;
/** After this many checks of an empty queue, unfinished jobs count as stuck. */
const DEFAULT_IDLE_POLLS = 20;
/** Real milliseconds until the next check while clients still post. */
const POLL_MS = 20;

export interface Others {
  /** The number of clients that still send requests. */
  clients(): number;
  /** The number of jobs that are neither done nor dead. */
  live(): Promise<number>;
  /** Must exceed the default if jobs wait for hours between their attempts. */
  max_idle_polls?: number;
}

export interface QueueDriver {
  readonly queue: UnreliableQueue;
  take(this: void, wakeUps: WakeUp[]): { failed: string[] };
  /** How far the clock of the service is ahead, and in how many steps it advanced. */
  readonly ahead_ms: number;
  readonly jumps: number;
  /** Runs until there is no message, no posting client and no live job. */
  run(fleet: Fleet, others: Others): Promise<void>;
}

export function createQueueDriver(random: Random): QueueDriver {
  let ahead_ms = 0;
  let jumps = 0;
  let relayed_ms = 0;
  let working = 0;
  let changed = Promise.withResolvers<void>();
  const signalChange = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const queue = createUnreliableQueue(random, signalChange);

  async function work(fleet: Fleet, message: Message): Promise<void> {
    working += 1;
    const done = await nullIfDied(fleet.order({ do: "wake", job_id: message.job_id }));
    if (!done) queue.reschedule(message, ahead_ms);
    working -= 1;
    signalChange();
  }

  async function jump(fleet: Fleet, to_ms: number): Promise<void> {
    ahead_ms = to_ms;
    jumps += 1;
    await fleet.setClock(ahead_ms);
    if (ahead_ms - relayed_ms < RELAY_EVERY_MS) return;
    relayed_ms = ahead_ms;
    await nullIfDied(fleet.order({ do: "schedule", name: "relay" }));
  }

  return {
    queue,
    take: (wakeUps) => queue.take(wakeUps, ahead_ms),
    get ahead_ms() {
      return ahead_ms;
    },
    get jumps() {
      return jumps;
    },
    async run(fleet, others) {
      const broken = Promise.withResolvers<never>();
      const { max_idle_polls = DEFAULT_IDLE_POLLS } = others;
      for (let idle_polls = 0; idle_polls < max_idle_polls; ) {
        while (working < MAX_CONCURRENT_WAKE_UPS) {
          const message = queue.next(ahead_ms);
          if (!message) break;
          work(fleet, message).catch(broken.reject);
        }
        const due_ms = queue.dueAt();
        if (working > 0 || queue.in_transit > 0) await Promise.race([changed.promise, broken.promise]);
        else if (due_ms !== null) {
          idle_polls = 0;
          await jump(fleet, due_ms);
        } else if (others.clients() > 0) await Promise.race([changed.promise, pause(POLL_MS)]);
        else if ((await others.live()) === 0) return;
        else await jump(fleet, ahead_ms + IDLE_JUMPS_MS[++idle_polls % 2]!);
      }
    },
  };
}
