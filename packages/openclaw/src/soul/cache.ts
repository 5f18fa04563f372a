const FRESH_MS = 3_600_000;
/** After a failure the stale value is served for this long, so that not every caller waits for the failing source. */
const RETRY_AFTER_FAILURE_MS = 30_000;

/** Caches values of a remote source for an hour, and serves stale values while the source fails. */
export interface Cache<T> {
  /**
   * Returns the cached value of `key`, else the result of `load`. Null from `load` means that the value does not exist and is
   * not cached. Concurrent callers share one `load`. Rejects like `load` when there is no stale value.
   */
  get(key: string, now: Date, load: () => Promise<T | null>): Promise<T | null>;
}

interface CacheEntry<T> {
  value: T;
  size: number;
  /** Time in milliseconds of the epoch until which the value is not loaded again. */
  fresh_until: number;
}

/** Creates a cache whose values have a total size of at most `max_size`. The least recently used values are evicted. */
export function createCache<T>({ max_size, sizeOf }: { max_size: number; sizeOf: (value: T) => number }): Cache<T> {
  const entries = new Map<string, CacheEntry<T>>();
  const loading = new Map<string, Promise<T | null>>();
  let size = 0;

  function evict(key: string): void {
    size -= entries.get(key)?.size ?? 0;
    entries.delete(key);
  }

  /** Stores the entry at the end of the Map and evicts entries from its beginning, which are the least recently used. */
  function put(key: string, entry: CacheEntry<T>): void {
    evict(key);
    entries.set(key, entry);
    size += entry.size;
    for (const oldest of entries.keys()) {
      if (size <= max_size) return;
      evict(oldest);
    }
  }

  async function load(key: string, now: number, source: () => Promise<T | null>): Promise<T | null> {
    const stale = entries.get(key);
    try {
      const value = await source();
      if (value === null) evict(key);
      else put(key, { value, size: sizeOf(value), fresh_until: now + FRESH_MS });
      return value;
    } catch (error) {
      if (!stale) throw error;
      put(key, { ...stale, fresh_until: now + RETRY_AFTER_FAILURE_MS });
      return stale.value;
    } finally {
      loading.delete(key);
    }
  }

  return {
    async get(key, now, source) {
      const cached = entries.get(key);
      if (cached && now.getTime() < cached.fresh_until) {
        put(key, cached);
        return cached.value;
      }
      const running = loading.get(key);
      if (running) return running;
      const started = load(key, now.getTime(), source);
      loading.set(key, started);
      return started;
    },
  };
}
