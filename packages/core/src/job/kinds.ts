/** What each kind of job carries. Ids and small facts only: the handler reads the rest, so that it acts on the truth of the moment. */
export interface JobPayloads {
  "webhook.notify": { board_id: string; webhook_id: string; payload_id: string };
}
export type JobKind = keyof JobPayloads;

export interface RetryPolicy {
  attempts: number;
  first_seconds: number;
  max_seconds: number;
}

/** Contract gateways.md §13. */
export const POLICIES: Readonly<Record<JobKind, RetryPolicy>> = {
  "webhook.notify": { attempts: 12, first_seconds: 10, max_seconds: 600 },
};

const JITTER = 0.1;

/** Milliseconds to wait after the given attempt failed (the first is 1): doubling, capped, ±10 %. */
export function backoff(policy: RetryPolicy, attempt: number, random: () => number = Math.random): number {
  const seconds = Math.min(policy.first_seconds * 2 ** (attempt - 1), policy.max_seconds);
  return Math.round(seconds * 1000 * (1 + JITTER * (2 * random() - 1)));
}
