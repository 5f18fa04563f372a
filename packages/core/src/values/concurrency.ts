type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs at most `maxConcurrent` pieces of work at a time. The others wait in the order in which they arrived. */
export function createLimiter(maxConcurrent: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    // When work ends, its slot goes to the first work that waits, so that later work cannot overtake it.
    if (running < maxConcurrent) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

/** Runs work under a key, such as the id of an organization. */
type KeyedLimiter = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `maxConcurrent` pieces of work at a time for each key. Before a piece is accepted, `requireRoom` gets the number of
 * pieces of its key that run or wait, and may throw.
 */
export function createKeyedLimiter(maxConcurrent: number, requireRoom: (pending: number) => void = () => {}): KeyedLimiter {
  const limiters = new Map<string, { run: Limiter; pending: number }>();
  return async (key, work) => {
    const own = limiters.get(key) ?? { run: createLimiter(maxConcurrent), pending: 0 };
    requireRoom(own.pending);
    limiters.set(key, own);
    own.pending += 1;
    try {
      return await own.run(work);
    } finally {
      own.pending -= 1;
      if (own.pending === 0) limiters.delete(key);
    }
  };
}

/** Waits for work until the signal aborts. After that, the result or error of the work is ignored. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const settled = work.catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const abort = () => resolve(undefined);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  return Promise.race([settled, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** Processes items in order, at most `max_concurrent` at a time. Once `shouldStop` returns true, no more items are started. */
export async function forEachConcurrent<T>(
  items: readonly T[],
  { max_concurrent, shouldStop }: { max_concurrent: number; shouldStop: () => boolean },
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) {
      if (shouldStop()) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(max_concurrent, items.length) }, worker));
}
