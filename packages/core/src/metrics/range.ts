import * as z from "zod";
import { addMs, DAY_MS, HOUR_MS, startOfHour } from "../values/time.ts";

export const RangeKey = z.enum(["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"]);
export type RangeKey = z.infer<typeof RangeKey>;

export const BucketSize = z.enum(["hour", "day", "week", "month"]);
export type BucketSize = z.infer<typeof BucketSize>;

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

/**
 * The part [start, end) of a period that lies in the window. A period is an hour, a day, a week from Monday or a month, in UTC.
 */
export interface Bucket {
  /** When the whole period starts. */
  period: Date;
  start: Date;
  end: Date;
}

/** The window [start, now) of a range and the equally long window before it, each with its buckets, oldest first. */
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
  const start = addMs(now, -length_ms);
  const comparison = toBuckets(size, addMs(start, -length_ms), start);
  return { range, size, start, now, comparison, primary: toBuckets(size, start, now) };
}

/** Returns the edges of all buckets of a timeline: bucket i is [edges[i], edges[i + 1]). A timeline has no gaps. */
export function toEdges({ comparison, primary }: Timeline): Date[] {
  return [comparison[0]!.start, ...[...comparison, ...primary].map(({ end }) => end)];
}

/**
 * Returns the buckets from the one that contains the start to the one that contains the end. If the window ends exactly where a
 * bucket starts, that bucket is the last one and is empty.
 */
function toBuckets(size: BucketSize, start: Date, end: Date): Bucket[] {
  const buckets: Bucket[] = [];
  for (let period = toPeriod(size, start); period <= end; ) {
    const next = toNextPeriod(size, period);
    buckets.push({ period, start: period > start ? period : start, end: next < end ? next : end });
    period = next;
  }
  return buckets;
}

function toPeriod(size: BucketSize, time: Date): Date {
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()];
  const sinceMonday = (time.getUTCDay() + 6) % 7;
  switch (size) {
    case "hour":
      return startOfHour(time);
    case "day":
      return new Date(Date.UTC(year, month, day));
    case "week":
      return new Date(Date.UTC(year, month, day - sinceMonday));
    case "month":
      return new Date(Date.UTC(year, month));
  }
}

function toNextPeriod(size: BucketSize, period: Date): Date {
  switch (size) {
    case "hour":
      return addMs(period, HOUR_MS);
    case "day":
      return addMs(period, DAY_MS);
    case "week":
      return addMs(period, 7 * DAY_MS);
    case "month":
      return new Date(Date.UTC(period.getUTCFullYear(), period.getUTCMonth() + 1));
  }
}
