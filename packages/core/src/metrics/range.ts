import * as z from "zod";

export const RangeKey = z.enum(["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"]);
export type RangeKey = z.infer<typeof RangeKey>;

export const BucketSize = z.enum(["hour", "day", "week", "month"]);
export type BucketSize = z.infer<typeof BucketSize>;

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const RANGES: Readonly<Record<RangeKey, { length_ms: number; size: BucketSize }>> = {
  "24h": { length_ms: DAY_MS, size: "hour" },
  "3d": { length_ms: 3 * DAY_MS, size: "day" },
  "7d": { length_ms: 7 * DAY_MS, size: "day" },
  "14d": { length_ms: 14 * DAY_MS, size: "day" },
  "1m": { length_ms: 30 * DAY_MS, size: "day" },
  "3m": { length_ms: 90 * DAY_MS, size: "week" },
  "6m": { length_ms: 180 * DAY_MS, size: "week" },
  "1y": { length_ms: 365 * DAY_MS, size: "month" },
};

/** An hour, UTC day, week from Monday or month, as far as it lies in its window: [start, end). */
export interface Bucket {
  /** Start of the whole hour, day, week or month. */
  period: Date;
  start: Date;
  end: Date;
}

/** The window of a range, [start, now), the one of the same length before it, and their buckets from old to new. */
export interface Timeline {
  range: RangeKey;
  size: BucketSize;
  start: Date;
  now: Date;
  comparison: readonly Bucket[];
  primary: readonly Bucket[];
}

export function toTimeline(range: RangeKey, now: Date): Timeline {
  const { length_ms, size } = RANGES[range];
  const start = before(now, length_ms);
  const comparison = toBuckets(size, before(start, length_ms), start);
  return { range, size, start, now, comparison, primary: toBuckets(size, start, now) };
}

/** All buckets of a timeline follow each other without a gap: bucket i is [edges[i], edges[i + 1]). */
export function edgesOf({ comparison, primary }: Timeline): Date[] {
  return [comparison[0]!.start, ...[...comparison, ...primary].map(({ end }) => end)];
}

export const before = (time: Date, ms: number): Date => new Date(time.getTime() - ms);

/**
 * From the bucket that holds the start to the one that holds the end. A window that ends where a bucket starts has that
 * bucket as its last, with nothing in it.
 */
function toBuckets(size: BucketSize, start: Date, end: Date): Bucket[] {
  const buckets: Bucket[] = [];
  for (let period = periodOf(size, start); period <= end; ) {
    const next = periodAfter(size, period);
    buckets.push({ period, start: period > start ? period : start, end: next < end ? next : end });
    period = next;
  }
  return buckets;
}

function periodOf(size: BucketSize, time: Date): Date {
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()];
  const sinceMonday = (time.getUTCDay() + 6) % 7;
  switch (size) {
    case "hour":
      return new Date(Date.UTC(year, month, day, time.getUTCHours()));
    case "day":
      return new Date(Date.UTC(year, month, day));
    case "week":
      return new Date(Date.UTC(year, month, day - sinceMonday));
    case "month":
      return new Date(Date.UTC(year, month));
  }
}

function periodAfter(size: BucketSize, period: Date): Date {
  switch (size) {
    case "hour":
      return before(period, -HOUR_MS);
    case "day":
      return before(period, -DAY_MS);
    case "week":
      return before(period, -7 * DAY_MS);
    case "month":
      return new Date(Date.UTC(period.getUTCFullYear(), period.getUTCMonth() + 1));
  }
}
