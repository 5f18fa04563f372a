import type { System } from "@board/core/actor";
import type { Context } from "@board/core/context";
import { deliverMessage } from "@board/core/deliver-message";
import { relayAll, type WakeUp } from "@board/core/job/job";
import { QUEUES, type QueueName } from "@board/core/job/kinds";
import { createScopedLog, errorText } from "@board/core/log";
import { createPendingWakeups, hasPendingWakeups, mergePendingWakeups, type PendingWakeups } from "@board/core/pending-wakeups";
import { createFairPool, type PoolSize } from "./fair-pool.ts";

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

/** Jobs mostly wait for hosts, so many fit into one process. */
const POOL_SIZES: Readonly<Record<QueueName, PoolSize>> = {
  deliveries: { slots: 64, slots_per_group: 16 },
  syncs: { slots: 8, slots_per_group: 4 },
  probes: { slots: 8, slots_per_group: 4 },
};

/**
 * Starts the queues in memory and their consumers, which take turns between organizations. Relay and delivery are the same
 * as on AWS; only SQS is replaced.
 */
export function startConsumer(createContext: () => Context<System>): Consumer {
  const pools = Object.fromEntries(QUEUES.map((queue) => [queue, createFairPool(POOL_SIZES[queue])])) as Record<
    QueueName,
    ReturnType<typeof createFairPool>
  >;
  const timers = new Set<NodeJS.Timeout>();
  let relaying: Promise<void> | undefined;
  let pending = createPendingWakeups();
  let stopped = false;

  const runAfter = (ms: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };

  function receive(wakeUp: WakeUp, receives = 1): void {
    if (stopped) return;
    pools[wakeUp.queue].add(wakeUp.subscription_id ?? wakeUp.organization_id ?? "", async () =>
      requestRelay(await processJob(wakeUp, receives)),
    );
  }

  async function processJob(wakeUp: WakeUp, receives: number): Promise<PendingWakeups> {
    const ctx = createContext();
    const outcome = await deliverMessage({ ...ctx, log: createScopedLog(ctx.log, { receives }) }, wakeUp.id);
    if (outcome === "crashed" && receives < MAX_RECEIVES) runAfter(REDELIVERY_DELAY_MS, () => receive(wakeUp, receives + 1));
    // Not counted: a wake-up that is dropped while the database is unavailable would be sent again only half an hour later.
    if (outcome === "not_taken") runAfter(DATABASE_RETRY_MS, () => receive(wakeUp, receives));
    return ctx.pendingWakeups;
  }

  async function send(wakeUps: WakeUp[]): Promise<{ failed: string[] }> {
    for (const wakeUp of wakeUps) {
      if (wakeUp.delay_seconds > 0) runAfter(wakeUp.delay_seconds * 1000, () => receive(wakeUp));
      else receive(wakeUp);
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
      await Promise.all(Object.values(pools).map((pool) => pool.stop()));
    },
  };
}
