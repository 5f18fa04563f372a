import { effect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, reachable } from "./api.ts";
import { type Change, onChanges, visible } from "./live.ts";

export interface Resource<T> {
  data: T | null;
  /** Why the last read failed. The data from the read before it is kept. */
  error: string | null;
  reload: () => Promise<void>;
}

/** Changes within this time cause one read. */
const GATHER_MS = 400;
/** Minimum time between two reads while changes keep coming. */
const SPACING_MS = 2_000;
/** How often to read what the feed does not report, such as jobs and gateways. */
const REFRESH_MS = 15_000;

/**
 * Reads data for a view, and reads it again when a change concerns it. If the feed does not report all changes of the data, which
 * `isReported` says, the data is also read at intervals.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  concerns: (change: Change) => boolean,
  isReported = false,
): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<string | null>(null);
  const reload = useRef<() => Promise<void>>(async () => {});

  useEffect(() => {
    const stop = new AbortController();
    let waiting: ReturnType<typeof setTimeout> | undefined;
    let earliest = 0;
    let begun = 0;
    let newest = 0;
    setData(null);
    reload.current = async () => {
      earliest = Date.now() + SPACING_MS;
      const number = ++begun;
      /** Whether the answer counts. An answer that arrives after the answer to a later read is outdated. */
      const counts = () => !stop.signal.aborted && number > newest;
      try {
        const result = await load(stop.signal);
        if (!counts()) return;
        newest = number;
        setData(result);
        setError(null);
      } catch (reason) {
        if (counts()) setError(messageOf(reason));
      }
    };
    const soon = () => {
      waiting ??= setTimeout(
        () => {
          waiting = undefined;
          void reload.current();
        },
        Math.max(GATHER_MS, earliest - Date.now()),
      );
    };
    void reload.current();
    const unsubscribe = onChanges((changes) => {
      if (changes === "reset" || changes.some(concerns)) soon();
    });
    const stopRefreshing = isReported ? undefined : refreshWhileVisible(soon);
    return () => {
      stop.abort();
      unsubscribe();
      stopRefreshing?.();
      clearTimeout(waiting);
    };
  }, keys);

  useRetry(error, () => reload.current());
  return { data, error, reload: () => reload.current() };
}

/** Reads again what failed while the service did not answer, as soon as it answers again. */
export function useRetry(error: string | null, retry: () => unknown): void {
  useEffect(() => {
    if (error === null || reachable.value) return;
    return effect(() => {
      if (reachable.value) void retry();
    });
  }, [error]);
}

/** Calls `refresh` at intervals while the page is visible, and at once if the page was hidden for longer than an interval. */
function refreshWhileVisible(refresh: () => void): () => void {
  let last = Date.now();
  return effect(() => {
    if (!visible.value) return;
    const act = () => {
      last = Date.now();
      refresh();
    };
    if (Date.now() - last >= REFRESH_MS) act();
    const timer = setInterval(act, REFRESH_MS);
    return () => clearInterval(timer);
  });
}
