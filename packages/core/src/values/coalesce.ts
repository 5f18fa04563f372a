/** Lets callers with the same key share a call of `read`. */
interface Coalescer<T> {
  run(key: string, read: () => Promise<T>): Promise<T>;
}

interface Runs<T> {
  /** The current run of `read`. New callers cannot join it, because it may miss what they have just written. */
  current: Promise<unknown>;
  /** The run that starts when the current run ends. All callers that arrive before that share the next run. */
  next: Promise<T> | null;
}

/**
 * Lets callers share runs, so that each gets a result that was read after its call. For each key, at most one run is active and one
 * waits. The key must contain everything that the result depends on, including the caller's rights. Results and errors are not
 * cached.
 */
export function createCoalescer<T>(): Coalescer<T> {
  const byKey = new Map<string, Runs<T>>();

  function start(key: string, read: () => Promise<T>): Promise<T> {
    const run = read();
    const runs: Runs<T> = { current: run, next: null };
    byKey.set(key, runs);
    const end = () => {
      // If there is a next run, it has replaced this entry or is about to replace it.
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
