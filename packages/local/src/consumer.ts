import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliver, JobCrashed } from "@board/core/deliver";
import { relayAll, type WakeUp } from "@board/core/job/job";
import { errorText } from "@board/core/log";
import { createOutbox, isWaiting, merge, type Outbox } from "@board/core/outbox";

/** As the queue on AWS: a job that crashes its handler comes back this often, then its wake-up is dropped. */
const MAX_RECEIVES = 5;
const REDELIVERY_MS = 5_000;

export interface Consumer {
  /** There is something to relay: what a request left in its outbox, or everything. */
  poke(this: void, outbox: Outbox): void;
  /** Takes no more work and waits for what is being done. */
  stop(): Promise<void>;
}

/**
 * The queue and its consumer in one process: the same relay and the same delivery as on AWS, with this process's memory
 * in the place of SQS.
 */
export function startConsumer(context: () => Context<System>, concurrency = 8): Consumer {
  const waiting: { id: string; receives: number }[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let working = 0;
  let relaying: Promise<void> | undefined;
  let left = createOutbox();
  let stopped = false;
  let idle = () => {};

  const later = (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timers.add(timer);
  };

  function receive(id: string, receives: number): void {
    if (stopped) return;
    waiting.push({ id, receives });
    takeUp();
  }

  function takeUp(): void {
    while (!stopped && working < concurrency && waiting.length > 0) {
      const { id, receives } = waiting.shift()!;
      working++;
      void work(id, receives).then((outbox) => {
        working--;
        if (working === 0) idle();
        poke(outbox);
        takeUp();
      });
    }
  }

  async function work(id: string, receives: number): Promise<Outbox> {
    const ctx = context();
    try {
      await deliver(ctx, id);
    } catch (error) {
      if (!(error instanceof JobCrashed)) ctx.log.error("jobs.not_taken", errorText(error), { job_id: id, receives });
      if (receives < MAX_RECEIVES) later(REDELIVERY_MS, () => receive(id, receives + 1));
    }
    return ctx.outbox;
  }

  async function send(wakeUps: WakeUp[]): Promise<{ failed: string[] }> {
    for (const { id, delay_seconds } of wakeUps) {
      if (delay_seconds > 0) later(delay_seconds * 1000, () => receive(id, 1));
      else receive(id, 1);
    }
    return { failed: [] };
  }

  /** One relay at a time; what comes in the meantime goes together with the next. */
  function poke(outbox: Outbox): void {
    merge(left, outbox);
    if (stopped || relaying || !isWaiting(left)) return;
    const scope = left;
    left = createOutbox();
    relaying = relayAll(context(), send, scope)
      .then(() => true)
      .catch((error: unknown) => {
        // The database is away: the next request or the sweep tries again, and then looks at everything.
        context().log.error("jobs.relay_failed", errorText(error));
        left.everything = true;
        return false;
      })
      .then((relayed) => {
        relaying = undefined;
        if (relayed) poke(createOutbox());
      });
  }

  return {
    poke,
    async stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      await relaying;
      if (working > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
  };
}
