import { type RetryPolicy, SYNC_RETRY } from "../wire/retry.ts";

/** One time limit for all work on a host, counted from its creation. */
export interface Deadline {
  /**
   * A retry policy whose `total_ms` is a getter for the time that is left. Pass this object itself on. A copy by spread would
   * contain a fixed `total_ms`.
   */
  readonly policy: RetryPolicy;
  /** Aborts all work at once, including waits. */
  readonly signal: AbortSignal | undefined;
  /** Sets a new limit, in milliseconds since the creation. */
  extend(ms: number): void;
}

export function createDeadline(
  ms: number,
  { signal, base = SYNC_RETRY }: { signal?: AbortSignal; base?: RetryPolicy } = {},
): Deadline {
  const started = performance.now();
  let limit_ms = ms;
  return {
    policy: {
      ...base,
      get total_ms() {
        return Math.max(0, started + limit_ms - performance.now());
      },
    },
    signal,
    extend(next_ms) {
      limit_ms = next_ms;
    },
  };
}
