/**
 * What stands between the queue of a storm and the processes: hands messages out, many at a time, and tells the time. It is
 * not waited for: when nobody has anything to do, the clock of the service goes on to when there is.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { WakeUp } from "@board/core/job/job";
import { type Fleet, unlessDied } from "./fleet.ts";
import { createLooseQueue, type LooseQueue, type Message } from "./loose-queue.ts";
import type { Random } from "./random.ts";

const WAKES_AT_A_TIME = 16;
/** Without a message in the queue: a lease runs out, or what was lost on its way is sent again. */
const NOTHING_DUE_MS = [61_000, 31 * 60_000];
const RELAY_EVERY_MS = 60_000;
/** Looks at an empty queue with unfinished jobs behind it, after which they count as stuck. */
const MOST_LOOKS = 20;
/** Real milliseconds until the next look while clients are still at it. */
const LOOK_MS = 20;

export interface Consumption {
  readonly queue: LooseQueue;
  take(this: void, wakeUps: WakeUp[]): { failed: string[] };
  /** By how much the clock of the service is ahead, and in how many steps it got there. */
  readonly ahead_ms: number;
  readonly jumps: number;
  /** Until there is nothing left to do: no message, no client, and no job that is not ended. */
  run(fleet: Fleet, others: { clients(): number; live(): Promise<number> }): Promise<void>;
}

export function createConsumption(random: Random): Consumption {
  let ahead_ms = 0;
  let jumps = 0;
  let relayed_ms = 0;
  let working = 0;
  let stirred = Promise.withResolvers<void>();
  const stir = () => {
    stirred.resolve();
    stirred = Promise.withResolvers();
  };
  const queue = createLooseQueue(random, stir);

  async function work(fleet: Fleet, message: Message): Promise<void> {
    working += 1;
    const done = await unlessDied(fleet.order({ do: "wake", job_id: message.job_id }));
    if (!done) queue.giveBack(message, ahead_ms);
    working -= 1;
    stir();
  }

  async function jump(fleet: Fleet, to_ms: number): Promise<void> {
    ahead_ms = to_ms;
    jumps += 1;
    await fleet.setClock(ahead_ms);
    if (ahead_ms - relayed_ms < RELAY_EVERY_MS) return;
    relayed_ms = ahead_ms;
    await unlessDied(fleet.order({ do: "schedule", name: "relay" }));
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
      for (let looks = 0; looks < MOST_LOOKS; ) {
        while (working < WAKES_AT_A_TIME) {
          const message = queue.next(ahead_ms);
          if (!message) break;
          work(fleet, message).catch(broken.reject);
        }
        const due_ms = queue.dueAt();
        if (working > 0 || queue.in_transit > 0) await Promise.race([stirred.promise, broken.promise]);
        else if (due_ms !== null) {
          looks = 0;
          await jump(fleet, due_ms);
        } else if (others.clients() > 0) await Promise.race([stirred.promise, pause(LOOK_MS)]);
        else if ((await others.live()) === 0) return;
        else await jump(fleet, ahead_ms + NOTHING_DUE_MS[++looks % 2]!);
      }
    },
  };
}
