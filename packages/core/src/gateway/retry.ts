import { setTimeout as delay } from "node:timers/promises";
import { GatewayError } from "./client.ts";
import { isTransient } from "./failure.ts";

/** How long and how patiently a call to a host is repeated; milliseconds, `jitter` as a fraction either way. */
export interface RetryPolicy {
  total_ms: number;
  first_ms: number;
  max_ms: number;
  jitter: number;
}

/** For calls somebody waits for (contract gateways.md §7). */
export const COORDINATION_RETRY: RetryPolicy = { total_ms: 45_000, first_ms: 500, max_ms: 5_000, jitter: 0.15 };
/** For template sync and provisioning; callers on Lambda lower `total_ms` to the time they have left. */
export const SYNC_RETRY: RetryPolicy = { total_ms: 600_000, first_ms: 750, max_ms: 30_000, jitter: 0.2 };

export interface RetryOptions {
  /** What is being done, for the text when the budget is used up. */
  step?: string;
  signal?: AbortSignal;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
  random?: () => number;
  /** Milliseconds on any clock. */
  now?: () => number;
}

/**
 * Runs `work` until it succeeds, fails for good or the budget is used up. Each call has its own budget:
 * a host may restart again later in a long run. Anything `work` does to a host is
 * repeated, so a chat.send inside must keep its idempotency key. Rejects with the last GatewayError, its text
 * extended by how long the host was unreachable, or as soon as the signal aborts.
 */
export async function withRetry<T>(policy: RetryPolicy, work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { step, signal, random = Math.random, now = () => performance.now() } = options;
  const sleep = options.sleep ?? ((ms, stop) => delay(ms, undefined, stop === undefined ? {} : { signal: stop }));
  const started = now();
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GatewayError) || !isTransient(error)) throw error;
      const elapsed = now() - started;
      const left = policy.total_ms - elapsed;
      if (left <= 0) throw exhausted(error, elapsed, step);
      const planned = Math.min(policy.first_ms * 2 ** attempt, policy.max_ms) * (1 + policy.jitter * (2 * random() - 1));
      await sleep(Math.min(Math.max(planned, error.failure.retry_after_ms ?? 0), left), signal);
    }
  }
}

function exhausted(last: GatewayError, elapsed_ms: number, step: string | undefined): GatewayError {
  const during = step === undefined ? "" : ` during ${step}`;
  return new GatewayError(
    `Gateway unreachable for ${Math.round(elapsed_ms / 1000)} s${during}. Last error: ${last.message}`,
    last.failure,
  );
}
