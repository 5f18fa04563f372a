import { ApiError, ConnectionError } from "./error.ts";
import type { HttpMethod } from "./operation.ts";

/** The header from which the service recognizes a repeated POST. */
export const IDEMPOTENCY_KEY = "Idempotency-Key";

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 8_000;
/** If the service asks for a longer wait, the call rejects with the error, whose `retry_after_seconds` the caller can use. */
const MAX_RETRY_AFTER_SECONDS = 60;

export interface RetryPolicy {
  verb: HttpMethod;
  /** Whether the request has an Idempotency-Key, so that repeating it has no second effect. */
  has_key: boolean;
  /** Number of retries after the first attempt. */
  retries: number;
  signal: AbortSignal | undefined;
}

/** Repeats an attempt after transient errors, if repeating it is safe. */
export async function withRetries<T>(attempt: () => Promise<T>, policy: RetryPolicy): Promise<T> {
  for (let repeat = 0; ; repeat++) {
    try {
      return await attempt();
    } catch (error) {
      policy.signal?.throwIfAborted();
      if (repeat >= policy.retries || !isRepeatable(error, policy)) throw error;
      const seconds = error instanceof ApiError ? error.retry_after_seconds : undefined;
      if (seconds !== undefined && seconds > MAX_RETRY_AFTER_SECONDS) throw error;
      await sleep(delayBefore(repeat, seconds), policy.signal);
    }
  }
}

/**
 * Returns the delay before a retry in milliseconds: at least what the service asks for, with a random part, so that clients do not
 * retry together.
 */
function delayBefore(repeat: number, retry_after_seconds: number | undefined): number {
  const backoff = Math.min(FIRST_DELAY_MS * 2 ** repeat, MAX_DELAY_MS);
  if (retry_after_seconds === undefined) return backoff * (0.5 + Math.random() / 2);
  return retry_after_seconds * 1000 + FIRST_DELAY_MS * Math.random();
}

/**
 * Returns whether to retry. A request with a 429 had no effect. After other errors its effect is unknown, so a repetition must be
 * harmless.
 */
function isRepeatable(error: unknown, { verb, has_key }: RetryPolicy): boolean {
  const harmless = verb === "post" ? has_key : verb !== "patch";
  if (error instanceof ConnectionError) return harmless;
  if (!(error instanceof ApiError)) return false;
  if (error.status === 429) return true;
  // The first attempt is still running. Its answer will be stored under the key.
  if (error.status === 409) return verb === "post" && has_key && error.retry_after_seconds !== undefined;
  return harmless && [502, 503, 504].includes(error.status);
}

/** The longest delay of a timer. A timer with a longer delay fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits. Rejects as soon as the signal is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Returns a random id. `crypto.randomUUID` is missing on pages that are not served over HTTPS. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
