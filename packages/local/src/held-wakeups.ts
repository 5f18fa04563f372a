import type { System } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { markUnsent, renewSent } from "@board/core/job/relay";
import { errorText } from "@board/core/values/log";

/** Renewal interval, well below the time after which another process assumes that this process lost its wake-ups. */
const RENEW_MS = 12_000;

/** The wake-ups that this process has received but not yet handled. No other process runs their jobs. */
interface HeldWakeups {
  add(id: string): void;
  remove(id: string): void;
  /** Releases the wake-ups, so that other processes on the database can run the jobs. */
  giveBack(): Promise<void>;
  /** Stops renewing. */
  stop(): void;
}

export function createHeldWakeups(createContext: () => Context<System>): HeldWakeups {
  const ids = new Set<string>();

  async function update(write: (ctx: Context, ids: readonly string[]) => Promise<void>): Promise<void> {
    if (ids.size === 0) return;
    const ctx = createContext();
    // If the database does not respond, the wake-ups expire, and other processes take them over.
    await write(ctx, [...ids]).catch((error: unknown) => ctx.log.warn("jobs.wake_ups_not_renewed", errorText(error)));
  }

  const renewal = setInterval(() => void update(renewSent), RENEW_MS).unref();
  return {
    add: (id) => void ids.add(id),
    remove: (id) => void ids.delete(id),
    async giveBack() {
      await update(markUnsent);
      ids.clear();
    },
    stop: () => clearInterval(renewal),
  };
}
