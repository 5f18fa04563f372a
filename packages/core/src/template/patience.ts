import { type RetryPolicy, SYNC_RETRY } from "../gateway/retry.ts";

/** How long a host is put up with, all calls together, from one moment on. */
export interface Patience {
  /** Its budget is what is left of that time. */
  readonly policy: RetryPolicy;
  /** Ends everything, whatever is being waited for. */
  readonly signal: AbortSignal | undefined;
  /** Moves the end, in milliseconds from the beginning. */
  extend(ms: number): void;
}

export function createPatience(ms: number, signal?: AbortSignal): Patience {
  const started = performance.now();
  let limit = ms;
  return {
    policy: {
      ...SYNC_RETRY,
      get total_ms() {
        return Math.max(0, started + limit - performance.now());
      },
    },
    signal,
    extend(next) {
      limit = next;
    },
  };
}

/** Waits for work, or until the signal aborts; what the work still does then is nobody's business any more. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const ended = work.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const abort = () => resolve(undefined);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return Promise.race([ended, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Works on items, so many at a time, in their order; begins none any more once it is over. */
export async function inParallel<T>(
  items: readonly T[],
  { at_a_time, isOver }: { at_a_time: number; isOver: () => boolean },
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) {
      if (isOver()) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_a_time, items.length) }, worker));
}
