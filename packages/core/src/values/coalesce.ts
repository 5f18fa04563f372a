/** Lets requests with the same key share a run. */
export interface Coalescer<T> {
  run(key: string, read: () => Promise<T>): Promise<T>;
}

interface Runs<T> {
  /** The run whose reads have begun. Nobody joins it: it may not see what a new caller has just written. */
  current: Promise<unknown>;
  /** The run that starts when the current one has ended, for all who ask until then. */
  next: Promise<T> | null;
}

/**
 * Shares runs so that every caller gets what was read after it asked. At most one run of a key is under way and one waits.
 * The key must name everything that the result depends on, including the rights of the caller. Nothing is kept when no
 * caller waits, errors included.
 */
export function createCoalescer<T>(): Coalescer<T> {
  const byKey = new Map<string, Runs<T>>();

  function start(key: string, read: () => Promise<T>): Promise<T> {
    const run = read();
    const runs: Runs<T> = { current: run, next: null };
    byKey.set(key, runs);
    const end = () => {
      // The next run has replaced this entry when there is one.
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
