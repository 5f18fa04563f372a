const FRESH_MS = 3_600_000;
/** So long a failing source is left alone while something of it is there: nobody has to wait for it in vain again. */
const REST_MS = 30_000;

/** What was read elsewhere, kept for an hour, and for longer while its source fails. */
export interface Cache<T> {
  /**
   * The value of `key`: the kept one, or what `load` brings. Null from `load` means that it does not exist, which is not
   * kept. Whoever asks while a value is being loaded gets the same. Rejects as `load` does when nothing is there to
   * fall back on.
   */
  get(key: string, now: Date, load: () => Promise<T | null>): Promise<T | null>;
}

interface Kept<T> {
  value: T;
  size: number;
  /** Milliseconds of the epoch until which it is not asked for again. */
  fresh_until: number;
}

/** A cache for values of `max_size` altogether; those that were not asked for the longest go first. */
export function createCache<T>({ max_size, sizeOf }: { max_size: number; sizeOf: (value: T) => number }): Cache<T> {
  const kept = new Map<string, Kept<T>>();
  const loading = new Map<string, Promise<T | null>>();
  let size = 0;

  function drop(key: string): void {
    size -= kept.get(key)?.size ?? 0;
    kept.delete(key);
  }

  /** A Map has its keys in the order in which they were put in: the first is the one to go. */
  function keep(key: string, entry: Kept<T>): void {
    drop(key);
    kept.set(key, entry);
    size += entry.size;
    for (const oldest of kept.keys()) {
      if (size <= max_size) return;
      drop(oldest);
    }
  }

  async function load(key: string, now: number, source: () => Promise<T | null>): Promise<T | null> {
    const before = kept.get(key);
    try {
      const value = await source();
      if (value === null) drop(key);
      else keep(key, { value, size: sizeOf(value), fresh_until: now + FRESH_MS });
      return value;
    } catch (error) {
      if (!before) throw error;
      keep(key, { ...before, fresh_until: now + REST_MS });
      return before.value;
    } finally {
      loading.delete(key);
    }
  }

  return {
    async get(key, now, source) {
      const known = kept.get(key);
      if (known && now.getTime() < known.fresh_until) {
        keep(key, known);
        return known.value;
      }
      const running = loading.get(key);
      if (running) return running;
      const started = load(key, now.getTime(), source);
      loading.set(key, started);
      return started;
    },
  };
}
