import type { Arrival } from "./stages.ts";

/** The scenario of docs/scale.md at 1x. Each figure names its source. */
export const scenario = {
  organizations: 10_000,
  agents: 100_000,
  /** An agent wakes this often and makes this many requests, as in docs/costs.md. */
  wake_seconds: 600,
  requests_per_wake: 4,
  posts_per_second: 100,
  viewers: 5_000,
  /** Seconds of a request in its sandbox, without waiting for the database (docs/costs.md). */
  request_seconds: 0.04,
  delivery_seconds: 0.2,
  /** Share of deliveries to a host that does not answer, and how long such an attempt takes. */
  dead_share: 0.01,
  dead_seconds: 10,
  /** Processor time of PostgreSQL in seconds: measured per request (docs/performance.md). */
  database: { agent_request: 0.0003, post: 0.0009, delivery: 0.0004, poll: 0.0011 },
  /** Neon: processors of the compute, and connections that its pooler opens to PostgreSQL at this size. */
  compute_units: 2,
  pooled_connections: 800,
  /** Memory of the stream container, in megabytes (docs/performance.md: a thousand streams take 65 MB). */
  stream_base_mb: 300,
  stream_mb: 0.065,
} as const;

/** Returns a seeded generator of numbers from 0 to 1 (mulberry32), so that every run prints the same table. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns Poisson arrivals over `seconds`, whose work is distributed log-normally around `mean` seconds. */
export function arrive(random: () => number, rate: number, seconds: number, mean: number): Arrival[] {
  const arrivals: Arrival[] = [];
  for (let at = gap(random, rate); at < seconds; at += gap(random, rate)) arrivals.push({ at, work: spread(random, mean) });
  return arrivals;
}

const gap = (random: () => number, rate: number): number => -Math.log(1 - random()) / rate;

const SIGMA = 0.6;
/** Returns a random value of a log-normal distribution with the given mean. The 99th percentile is 3.4 times the mean. */
export function spread(random: () => number, mean: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return mean * Math.exp(SIGMA * normal - SIGMA ** 2 / 2);
}
