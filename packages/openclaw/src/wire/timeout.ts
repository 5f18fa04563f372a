import { rejectAfter } from "@board/core/values/timeout";
import { GatewayError } from "./gateway-error.ts";

/**
 * Rejects if `work` takes longer than `timeout_ms`. The work itself is not cancelled, because other callers may still wait for
 * it.
 */
export const withTimeout = <T>(work: Promise<T>, timeout_ms: number, what: string): Promise<T> =>
  rejectAfter(work, timeout_ms, () => timeoutError(what, timeout_ms));

/** Creates the error of a timeout. `what` names what the gateway did not do, as in "answer health". */
export function timeoutError(what: string, timeout_ms: number): GatewayError {
  return new GatewayError(`Gateway did not ${what} within ${timeout_ms / 1000} s.`, { timed_out: true });
}
