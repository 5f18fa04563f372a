import { ApiError, ConnectionError } from "@board/client";
import { setTimeout as pause } from "node:timers/promises";

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;
/** The longest wait that a service may ask for. A timer that is set for more than 24 days would fire at once. */
const MAX_ASKED_MS = 3_600_000;

/** Returns whether a call failed for a reason that will pass: no connection, or a service that is overloaded or restarting. */
export const isTransient = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500));

/** Returns how many milliseconds to wait before the next attempt: at least as long as the service asks for, up to an hour. */
export function delayAfter(error: unknown, attempt: number): number {
  const seconds = error instanceof ApiError ? error.retry_after_seconds : undefined;
  const backoff = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS) * (0.75 + Math.random() / 4);
  return Math.max(backoff, Math.min((seconds ?? 0) * 1_000, MAX_ASKED_MS));
}

/** Repeats a call until the call succeeds or is refused, or the signal aborts. Repeating the call must be harmless. */
export async function untilAnswered<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      await pause(delayAfter(error, attempt), undefined, { signal });
    }
  }
}

export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof ApiError && error.code !== undefined && codes.includes(error.code);
/** Returns whether the service refused the token. Another start of the runner may have a valid token. */
export const isTokenRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
export const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status >= 400 && error.status < 500;
