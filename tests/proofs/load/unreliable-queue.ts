/** A queue with only the guarantees of SQS: messages arrive at least once, late and in any order, and sends may fail. */
import type { WakeUp } from "@board/core/job/relay";
import type { Random } from "./random.ts";

const FAULT_RATES = { refused: 0.02, silent: 0.005, doubled: 0.05, late: 0.1 };
const MAX_DELAY_MS = 20;
/** The visibility timeout by the clock of the service. */
const VISIBILITY_MS = 60_000;

export interface Message {
  job_id: string;
  due_ms: number;
}

export interface UnreliableQueue {
  readonly counts: { refused: number; silent: number; doubled: number; late: number; returned: number };
  /** Accepts messages. Rejects to give no answer, with or without having accepted them. */
  take(wakeUps: WakeUp[], now_ms: number): { failed: string[] };
  /** Takes a random message that is due. */
  next(now_ms: number): Message | undefined;
  /** Puts a message back into the queue after its consumer died or failed. */
  reschedule(message: Message, now_ms: number): void;
  /** Returns when the next message is due; null without messages. */
  dueAt(): number | null;
  /** The number of messages being sent to it. */
  readonly in_transit: number;
}

export function createUnreliableQueue(random: Random, arrived: () => void): UnreliableQueue {
  const messages: Message[] = [];
  const counts = { refused: 0, silent: 0, doubled: 0, late: 0, returned: 0 };
  let in_transit = 0;
  const occurs = (fault: keyof typeof FAULT_RATES): boolean => {
    const struck = random() < FAULT_RATES[fault];
    if (struck) counts[fault] += 1;
    return struck;
  };

  function put(message: Message): void {
    if (!occurs("late")) return void messages.push(message);
    in_transit += 1;
    setTimeout(() => {
      in_transit -= 1;
      messages.push(message);
      arrived();
    }, random() * MAX_DELAY_MS);
  }

  return {
    counts,
    take(wakeUps, now_ms) {
      const failed: string[] = [];
      for (const { id, delay_seconds } of wakeUps) {
        if (occurs("refused")) {
          failed.push(id);
          continue;
        }
        const message = { job_id: id, due_ms: now_ms + delay_seconds * 1000 };
        put(message);
        if (occurs("doubled")) put({ ...message });
      }
      arrived();
      if (occurs("silent")) throw new Error("The queue does not answer");
      return { failed };
    },
    next(now_ms) {
      const due = messages.filter(({ due_ms }) => due_ms <= now_ms);
      if (due.length === 0) return undefined;
      const chosen = due[Math.floor(random() * due.length)]!;
      messages.splice(messages.indexOf(chosen), 1);
      return chosen;
    },
    reschedule({ job_id }, now_ms) {
      counts.returned += 1;
      messages.push({ job_id, due_ms: now_ms + VISIBILITY_MS });
    },
    dueAt: () => (messages.length === 0 ? null : Math.min(...messages.map(({ due_ms }) => due_ms))),
    get in_transit() {
      return in_transit;
    },
  };
}
