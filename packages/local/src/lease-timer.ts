import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { errorText } from "@board/core/values/log";
import { hasPendingWakeups, type PendingWakeups } from "@board/core/context/pending-wakeups";
import { expireLeases, readNextLeaseEnd } from "@board/core/task/lease/lease-expiry";

/**
 * The longest time between two reads of the lease ends. No lease is shorter, so a lease of another process is noticed before it
 * ends.
 */
const LOOK_MS = 60_000;
const MARGIN_MS = 100;
/** Wait before the next attempt when a lease has ended but its task is locked by another change. */
const AGAIN_MS = 1_000;

/**
 * Ends expired leases at once, so that a dead agent's task does not wait for the schedule. Returns a function that stops the timer.
 */
export function startLeaseTimer(
  createContext: () => Context<System>,
  requestRelay: (wakeups: PendingWakeups) => void,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function look(): Promise<void> {
    const ctx = createContext();
    let wait_ms = LOOK_MS;
    try {
      await expireLeases(ctx);
      const ends_at = await readNextLeaseEnd(ctx);
      const left_ms = ends_at ? ends_at.getTime() - ctx.now().getTime() : LOOK_MS;
      wait_ms = left_ms > 0 ? Math.min(left_ms + MARGIN_MS, LOOK_MS) : AGAIN_MS;
      if (hasPendingWakeups(ctx.pendingWakeups)) requestRelay(ctx.pendingWakeups);
    } catch (error) {
      ctx.log.warn("leases.look_failed", errorText(error));
    }
    if (!stopped) timer = setTimeout(start, wait_ms).unref();
  }

  let looking: Promise<void> | undefined;
  const start = () => void (looking = look());
  start();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await looking;
  };
}
