import { createLimiter, type Limiter } from "../values/concurrency.ts";

export type OrganizationLimiter = <T>(organization_id: string | undefined, work: () => Promise<T>) => Promise<T>;

/**
 * Limits how many pieces of work run at the same time for each organization; 0 means no limit. Work without an organization is
 * not limited.
 */
export function createOrganizationLimiter(maxConcurrent: number): OrganizationLimiter {
  const limiters = new Map<string, { run: Limiter; pending: number }>();
  return async (organization_id, work) => {
    if (organization_id === undefined || maxConcurrent === 0) return await work();
    const own = limiters.get(organization_id) ?? { run: createLimiter(maxConcurrent), pending: 0 };
    limiters.set(organization_id, own);
    own.pending += 1;
    try {
      return await own.run(work);
    } finally {
      own.pending -= 1;
      if (own.pending === 0) limiters.delete(organization_id);
    }
  };
}

export interface ExpiringSet {
  add(text: string): void;
  has(text: string): boolean;
}

/** Remembers texts for `lifetime_ms`. If there are more than `max_size`, the oldest are forgotten. */
export function createExpiringSet(lifetime_ms: number, max_size: number): ExpiringSet {
  const expiries = new Map<string, number>();
  return {
    add(text) {
      expiries.delete(text);
      expiries.set(text, performance.now() + lifetime_ms);
      const [oldest] = expiries.keys();
      if (expiries.size > max_size && oldest !== undefined) expiries.delete(oldest);
    },
    has: (text) => (expiries.get(text) ?? 0) > performance.now(),
  };
}
