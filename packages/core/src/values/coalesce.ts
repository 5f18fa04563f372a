/** Lets callers with the same key share a run. */
export interface Coalescer<T> {
  run(key: string, read: () => Promise<T>): Promise<T>;
}

interface Runs<T> {
  /** The run that has started. New callers cannot join it, because it may miss what they have just written. */
  current: Promise<unknown>;
  /** The run that starts when the current one ends. All callers that come before then share it. */
  next: Promise<T> | null;
}

/**
 * Shares runs; each caller gets a result that was read after its call. Per key, one run is active and at most one waits. The key
 * must name all that the result depends on, including the caller's rights. Results and errors are not kept.
 */
export function createCoalescer<T>(): Coalescer<T> {
  const byKey = new Map<string, Runs<T>>();

  function start(key: string, read: () => Promise<T>): Promise<T> {
    const run = read();
    const runs: Runs<T> = { current: run, next: null };
    byKey.set(key, runs);
    const end = () => {
      // If a next run exists, it has replaced or will replace this entry.
      if (byKey.get(key) === runs && runs.next === null) byKey.delete(key);
    };
    run.then(end, end);
    return run;
  }

  return {
    run(key, read) {
      const runs = byKey.get(key);
      if (runs === undefined) return start(key, read);
      const startNext = () => start(key, read);
      return (runs.next ??= runs.current.then(startNext, startNext));
    },
  };
}
