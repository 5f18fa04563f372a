import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "./api.ts";
import { type Change, onChanges } from "./live.ts";

export interface Resource<T> {
  data: T | null;
  /** Why the last reading failed; what was read before stays. */
  error: string | null;
  reload: () => Promise<void>;
}

/** Changes that come together are read once. */
const GATHER_MS = 400;
/** For what the feed does not report, such as jobs and gateways. */
const REFRESH_MS = 15_000;

/** Reads something for a view, and again when a change concerns it. */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  concerns: (change: Change) => boolean,
): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<string | null>(null);
  const reload = useRef<() => Promise<void>>(async () => {});

  useEffect(() => {
    const stop = new AbortController();
    let waiting: ReturnType<typeof setTimeout> | undefined;
    setData(null);
    reload.current = async () => {
      try {
        const result = await load(stop.signal);
        if (stop.signal.aborted) return;
        setData(result);
        setError(null);
      } catch (reason) {
        if (!stop.signal.aborted) setError(messageOf(reason));
      }
    };
    const soon = () =>
      (waiting ??= setTimeout(() => {
        waiting = undefined;
        void reload.current();
      }, GATHER_MS));
    void reload.current();
    const unsubscribe = onChanges((changes) => {
      if (changes === "reset" || changes.some(concerns)) soon();
    });
    const timer = setInterval(() => document.visibilityState === "visible" && soon(), REFRESH_MS);
    return () => {
      stop.abort();
      unsubscribe();
      clearInterval(timer);
      clearTimeout(waiting);
    };
  }, keys);

  return { data, error, reload: () => reload.current() };
}
