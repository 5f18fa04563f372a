import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliverMessage } from "@board/core/deliver-message";
import { relayAll, type WakeUp } from "@board/core/job/job";
import { createScopedLog, errorText } from "@board/core/log";
import { createPendingWakeups, hasPendingWakeups, mergePendingWakeups, type PendingWakeups } from "@board/core/pending-wakeups";

/** As on AWS: a message whose job crashes is delivered this many times, then dropped. */
const MAX_RECEIVES = 5;
const REDELIVERY_DELAY_MS = 5_000;
/** Delay while the database is unavailable. */
const DATABASE_RETRY_MS = 1_000;

export interface Consumer {
  /** Requests a relay of the pending wake-ups, which runs in the background. */
  requestRelay(this: void, wakeups: PendingWakeups): void;
  /** Stops taking messages and waits for the running jobs. */
  stop(): Promise<void>;
}

/** Starts a queue in memory and its consumer. Relay and delivery are the same as on AWS; only SQS is replaced. */
export function startConsumer(createContext: () => Context<System>, concurrency = 8): Consumer {
  const queue: { id: string; receives: number }[] = [];
  const timers = new Set<NodeJS.Timeout>();
  let active = 0;
  let relaying: Promise<void> | undefined;
  let pending = createPendingWakeups();
  let stopped = false;
  let resolveIdle = () => {};

  const runAfter = (ms: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };

  function receive(id: string, receives: number): void {
    if (stopped) return;
    queue.push({ id, receives });
    startNext();
  }

  function startNext(): void {
    while (!stopped && active < concurrency && queue.length > 0) {
      const { id, receives } = queue.shift()!;
      active++;
      void processJob(id, receives).then((wakeups) => {
        active--;
        if (active === 0) resolveIdle();
        requestRelay(wakeups);
        startNext();
      });
    }
  }

  async function processJob(id: string, receives: number): Promise<PendingWakeups> {
    const ctx = createContext();
    const outcome = await deliverMessage({ ...ctx, log: createScopedLog(ctx.log, { receives }) }, id);
    if (outcome === "crashed" && receives < MAX_RECEIVES) runAfter(REDELIVERY_DELAY_MS, () => receive(id, receives + 1));
    // Not counted: a wake-up that is dropped while the database is unavailable would be sent again only half an hour later.
    if (outcome === "not_taken") runAfter(DATABASE_RETRY_MS, () => receive(id, receives));
    return ctx.pendingWakeups;
  }

  async function send(wakeUps: WakeUp[]): Promise<{ failed: string[] }> {
    for (const { id, delay_seconds } of wakeUps) {
      if (delay_seconds > 0) runAfter(delay_seconds * 1000, () => receive(id, 1));
      else receive(id, 1);
    }
    return { failed: [] };
  }

  /** Only one relay runs at a time. Wake-ups that arrive meanwhile are sent by the next one. */
  function requestRelay(wakeups: PendingWakeups): void {
    mergePendingWakeups(pending, wakeups);
    if (stopped || relaying || !hasPendingWakeups(pending)) return;
    const scope = pending;
    pending = createPendingWakeups();
    relaying = relayAll(createContext(), send, scope)
      .then(() => true)
      .catch((error: unknown) => {
        // The database is unreachable: another relay tries again, for all lanes.
        createContext().log.error("jobs.relay_failed", errorText(error));
        pending.everything = true;
        if (!stopped) runAfter(DATABASE_RETRY_MS, () => requestRelay(createPendingWakeups()));
        return false;
      })
      .then((relayed) => {
        relaying = undefined;
        if (relayed) requestRelay(createPendingWakeups());
      });
  }

  return {
    requestRelay,
    async stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      await relaying;
      if (active > 0) await new Promise<void>((resolve) => (resolveIdle = resolve));
    },
  };
}
