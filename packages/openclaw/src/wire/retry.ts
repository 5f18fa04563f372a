import { setTimeout as delay } from "node:timers/promises";
import { GatewayError } from "./gateway-error.ts";

/** How long and how often a call to a host is retried. Times are milliseconds. `jitter` is a fraction in both directions. */
export interface RetryPolicy {
  /** Budget for all attempts together. */
  total_ms: number;
  /** First delay. Each further delay doubles, up to `max_ms`. */
  first_ms: number;
  max_ms: number;
  jitter: number;
}

/** The policy for calls while a request waits (docs/reference/gateways.md#retry-policies). */
export const INTERACTIVE_RETRY: RetryPolicy = { total_ms: 45_000, first_ms: 500, max_ms: 5_000, jitter: 0.15 };
/** The policy for template sync and provisioning. Callers lower `total_ms` to the time that they have left. */
export const SYNC_RETRY: RetryPolicy = { total_ms: 600_000, first_ms: 750, max_ms: 30_000, jitter: 0.2 };

interface RetryOptions {
  /** Names the work in the error text when the budget is used up. */
  step?: string;
  signal?: AbortSignal;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
  random?: () => number;
  /** Milliseconds on any clock. */
  now?: () => number;
}

/**
 * Retries `work` until it succeeds, fails permanently or the budget is used up. All of `work` is repeated, so a chat.send in it
 * must keep its idempotency key. Rejects with the last GatewayError, whose text then says how long the host was unreachable. Also
 * rejects when the signal aborts.
 */
export async function withRetry<T>(policy: RetryPolicy, work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { step, signal, random = Math.random, now = () => performance.now() } = options;
  const sleep = options.sleep ?? ((ms, abort) => delay(ms, undefined, abort === undefined ? {} : { signal: abort }));
  const started = now();
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GatewayError) || !error.is_transient) throw error;
      const elapsed = now() - started;
      const remaining_ms = policy.total_ms - elapsed;
      if (remaining_ms <= 0) throw budgetExhausted(error, elapsed, step);
      const delay_ms = Math.min(policy.first_ms * 2 ** attempt, policy.max_ms) * (1 + policy.jitter * (2 * random() - 1));
      await sleep(Math.min(Math.max(delay_ms, error.failure.retry_after_ms ?? 0), remaining_ms), signal);
    }
  }
}

function budgetExhausted(last: GatewayError, elapsed_ms: number, step: string | undefined): GatewayError {
  const during = step === undefined ? "" : ` during ${step}`;
  return new GatewayError(
    `Gateway unreachable for ${Math.round(elapsed_ms / 1000)} s${during}. Last error: ${last.message}`,
    last.failure,
  );
}
