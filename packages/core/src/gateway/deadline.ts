import { GatewayError } from "./client.ts";

/** Waits for `work` up to `timeout_ms` and then rejects, while `work` goes on for whoever else waits for it. */
export async function within<T>(work: Promise<T>, timeout_ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(missedDeadline(what, timeout_ms)), timeout_ms);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** `what` is what the gateway did not do, as in "answer health". */
export function missedDeadline(what: string, timeout_ms: number): GatewayError {
  return new GatewayError(`Gateway did not ${what} within ${timeout_ms / 1000} s.`, { timed_out: true });
}
