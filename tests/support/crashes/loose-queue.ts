/** A queue that keeps no more than its word: at least once, some day, in any order, when it feels like taking anything. */
import type { WakeUp } from "@board/core/job/job";
import type { Random } from "./random.ts";

const ODDS = { refused: 0.02, silent: 0.005, doubled: 0.05, late: 0.1 };
const LONGEST_DELAY_MS = 20;
/** By the clock of the service: as long as a message is out of sight once somebody has it. */
const VISIBILITY_MS = 60_000;

export interface Message {
  job_id: string;
  due_ms: number;
}

export interface LooseQueue {
  readonly counts: { refused: number; silent: number; doubled: number; late: number; returned: number };
  /** Rejects when it does not answer, whether or not it has taken them. */
  take(wakeUps: WakeUp[], now_ms: number): { failed: string[] };
  /** One of those that are due, any of them. */
  next(now_ms: number): Message | undefined;
  /** Whoever had it is dead, or has failed: it comes back. */
  giveBack(message: Message, now_ms: number): void;
  /** When something is due next; null when there is nothing. */
  dueAt(): number | null;
  /** Of those that are under way to it. */
  readonly in_transit: number;
}

export function createLooseQueue(random: Random, arrived: () => void): LooseQueue {
  const messages: Message[] = [];
  const counts = { refused: 0, silent: 0, doubled: 0, late: 0, returned: 0 };
  let in_transit = 0;
  const strikes = (fault: keyof typeof ODDS): boolean => {
    const struck = random() < ODDS[fault];
    if (struck) counts[fault] += 1;
    return struck;
  };

  function put(message: Message): void {
    if (!strikes("late")) return void messages.push(message);
    in_transit += 1;
    setTimeout(() => {
      in_transit -= 1;
      messages.push(message);
      arrived();
    }, random() * LONGEST_DELAY_MS);
  }

  return {
    counts,
    take(wakeUps, now_ms) {
      const failed: string[] = [];
      for (const { id, delay_seconds } of wakeUps) {
        if (strikes("refused")) {
          failed.push(id);
          continue;
        }
        const message = { job_id: id, due_ms: now_ms + delay_seconds * 1000 };
        put(message);
        if (strikes("doubled")) put({ ...message });
      }
      arrived();
      if (strikes("silent")) throw new Error("The queue does not answer");
      return { failed };
    },
    next(now_ms) {
      const due = messages.filter(({ due_ms }) => due_ms <= now_ms);
      if (due.length === 0) return undefined;
      const chosen = due[Math.floor(random() * due.length)]!;
      messages.splice(messages.indexOf(chosen), 1);
      return chosen;
    },
    giveBack({ job_id }, now_ms) {
      counts.returned += 1;
      messages.push({ job_id, due_ms: now_ms + VISIBILITY_MS });
    },
    dueAt: () => (messages.length === 0 ? null : Math.min(...messages.map(({ due_ms }) => due_ms))),
    get in_transit() {
      return in_transit;
    },
  };
}
