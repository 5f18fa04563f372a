import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { deliverHead, deliverMessage, type DeliveryOutcome } from "@board/api/work/deliver-message";
import { LOST_WITH_PROCESS, relayAll, type WakeUp } from "@board/core/job/relay";
import { QUEUES, type QueueName } from "@board/core/job/kinds";
import { createScopedLog, errorText } from "@board/core/values/log";
import {
  createPendingWakeups,
  hasPendingWakeups,
  mergePendingWakeups,
  type PendingWakeups,
} from "@board/core/context/pending-wakeups";
import { createFairPool, type PoolSize } from "./fair-pool.ts";
import { createHeldWakeups } from "./held-wakeups.ts";

/** As on AWS, a message whose job crashes is delivered this many times and then dropped. */
const MAX_RECEIVES = 5;
const REDELIVERY_DELAY_MS = 5_000;
/** Delay while the database is unavailable. */
const DATABASE_RETRY_MS = 1_000;

export interface Consumer {
  /** Requests a relay of the pending wake-ups, which runs in the background. */
  requestRelay(this: void, wakeups: PendingWakeups): void;
  /** Stops taking messages, releases the waiting messages, and waits for the running jobs. */
  stop(): Promise<void>;
}

/** Jobs mostly wait for hosts, so one process can run many of them. */
const POOL_SIZES: Readonly<Record<QueueName, PoolSize>> = {
  deliveries: { slots: 64, slots_per_group: 16 },
  syncs: { slots: 8, slots_per_group: 4 },
  probes: { slots: 8, slots_per_group: 4 },
  // This queue has more slots, because a receiver may take 15 s to respond, and many organizations may have dozens of receivers
  // each.
  outbound: { slots: 192, slots_per_group: 24 },
};

/**
 * Starts the queues in memory and their consumers, which serve organizations in rotation. These queues replace SQS. Relay and
 * delivery are the same as on AWS.
 */
export function startConsumer(
  createContext: () => Context<System>,
  noteChange: (organization_id: string) => void = () => {},
): Consumer {
  const pools = Object.fromEntries(QUEUES.map((queue) => [queue, createFairPool(POOL_SIZES[queue])])) as Record<
    QueueName,
    ReturnType<typeof createFairPool>
  >;
  const timers = new Set<NodeJS.Timeout>();
  const held = createHeldWakeups(createContext);
  let relaying: Promise<void> | undefined;
  let pending = createPendingWakeups();
  let stopped = false;
  /**
   * Lanes with a job that runs or waits for a slot in this process. When the job ends, the lane's next job starts without a relay.
   */
  const busyLanes = new Set<string>();

  const runAfter = (ms: number, action: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };

  function receiveAfter(ms: number, wakeUp: WakeUp, receives = 1): void {
    held.add(wakeUp.id);
    runAfter(ms, () => receive(wakeUp, receives));
  }

  /** Adds work to the pool, which rotates between organizations, and between the subscriptions of an organization. */
  const addWork = ({ queue, organization_id, subscription_id }: WakeUp, work: () => Promise<void>) =>
    pools[queue].add({ group: organization_id ?? "", member: subscription_id ?? "" }, work);

  function receive(wakeUp: WakeUp, receives = 1): void {
    held.add(wakeUp.id);
    if (stopped) return;
    if (wakeUp.lane !== undefined) busyLanes.add(wakeUp.lane);
    addWork(wakeUp, async () => {
      held.remove(wakeUp.id);
      const ctx = createContext();
      const outcome = await deliverMessage({ ...ctx, log: createScopedLog(ctx.log, { receives }) }, wakeUp.id);
      repeatUnlessHandled(wakeUp, receives, outcome);
      finishWakeUp(wakeUp, ctx.pendingWakeups);
    });
  }

  function repeatUnlessHandled(wakeUp: WakeUp, receives: number, outcome: DeliveryOutcome): void {
    if (outcome === "crashed" && receives < MAX_RECEIVES) receiveAfter(REDELIVERY_DELAY_MS, wakeUp, receives + 1);
    // These repetitions are not counted. If a wake-up were dropped while the database is down, it would be sent again only after it
    // counts as lost.
    if (outcome === "not_taken") receiveAfter(DATABASE_RETRY_MS, wakeUp, receives);
  }

  /** Completes a wake-up. The next job of its lane needs no relay, but other organizations are served first. */
  function finishWakeUp(wakeUp: WakeUp, pendingWakeups: PendingWakeups): void {
    const { lane, queue, organization_id } = wakeUp;
    if (organization_id !== null) noteChange(organization_id);
    if (lane !== undefined && queue === "deliveries") {
      pendingWakeups.lanes.delete(lane);
      addWork(wakeUp, () => runNext(wakeUp, lane));
    } else if (lane !== undefined) {
      busyLanes.delete(lane);
      pendingWakeups.lanes.add(lane);
    }
    requestRelay(pendingWakeups);
  }

  async function runNext(wakeUp: WakeUp, lane: string): Promise<void> {
    const ctx = createContext();
    const next = await deliverHead(ctx, lane);
    if (next === null) {
      busyLanes.delete(lane);
      ctx.pendingWakeups.lanes.add(lane);
      return requestRelay(ctx.pendingWakeups);
    }
    const nextWakeUp = { ...wakeUp, ...next.job };
    repeatUnlessHandled(nextWakeUp, 1, next.outcome);
    finishWakeUp(nextWakeUp, ctx.pendingWakeups);
  }

  async function send(wakeUps: WakeUp[]): Promise<{ failed: string[] }> {
    for (const wakeUp of wakeUps) {
      if (wakeUp.delay_seconds > 0) receiveAfter(wakeUp.delay_seconds * 1000, wakeUp);
      else receive(wakeUp);
    }
    return { failed: [] };
  }

  /** Starts a relay unless one is running. Wake-ups that arrive while a relay runs are sent by the next relay. */
  function requestRelay(wakeups: PendingWakeups): void {
    mergePendingWakeups(pending, wakeups);
    for (const lane of pending.lanes) if (busyLanes.has(lane)) pending.lanes.delete(lane);
    if (stopped || relaying || !hasPendingWakeups(pending)) return;
    const scope = pending;
    pending = createPendingWakeups();
    relaying = relayAll(createContext(), send, scope, Number.POSITIVE_INFINITY, LOST_WITH_PROCESS)
      .then(() => true)
      .catch((error: unknown) => {
        // The database is unreachable, so the next relay looks at all lanes.
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
      held.stop();
      const idle = Promise.all(Object.values(pools).map((pool) => pool.stop()));
      await relaying;
      await held.giveBack();
      await idle;
      // Releases jobs that crashed or lost the database while the other jobs were finishing.
      await held.giveBack();
    },
  };
}
