import * as z from "zod";
import { Instant } from "../wire.ts";
import { type Bucket, BucketSize, RangeKey, type Timeline } from "./range.ts";

const period = Instant.describe("Start of the bucket (UTC), also where the window cuts it.");

const Point = z
  .object({ period, value: z.number().describe("The figure of the bucket, rounded to 2 decimals; 0 when nothing happened.") })
  .meta({ id: "MetricPoint", description: "A figure of one bucket." });

const inStatus = (status: string) => z.int().describe(`Tasks in ${status} when the bucket ended.`);

const WorkPoint = z
  .object({
    period,
    inbox: inStatus("inbox"),
    in_progress: inStatus("progress"),
    review: inStatus("review"),
    done: inStatus("done"),
  })
  .meta({ id: "MetricWorkPoint", description: "How many tasks were in each status at the end of one bucket; now in the last." });

const seriesOf = <T extends z.ZodType>(point: T, id: string) =>
  z
    .object({
      range: RangeKey.describe("The range that was asked for."),
      bucket: BucketSize.describe("What one point stands for."),
      points: z.array(point).describe("Every bucket from the one that holds the window's start to the one that holds its end."),
    })
    .meta({ id, description: "A metric over one window, from old to new." });

const comparedOf = <T extends z.ZodType>(series: T, id: string) =>
  z
    .object({
      primary: series.describe("The range up to now."),
      comparison: series.describe("The time of the same length before it."),
    })
    .meta({ id, description: "A metric over a range and over the time before it." });

export const ComparedSeries = comparedOf(seriesOf(Point, "MetricSeries"), "MetricComparison");
export const ComparedWork = comparedOf(seriesOf(WorkPoint, "MetricWorkSeries"), "MetricWorkComparison");

interface Compared<T> {
  primary: { range: RangeKey; bucket: BucketSize; points: ({ period: string } & T)[] };
  comparison: { range: RangeKey; bucket: BucketSize; points: ({ period: string } & T)[] };
}

/** A figure for every bucket of the timeline, those of the comparison first, as the answer shows them. */
export function toCompared<T extends object>(timeline: Timeline, figures: readonly T[]): Compared<T> {
  const { range, size, comparison, primary } = timeline;
  const series = (buckets: readonly Bucket[], from: number) => ({
    range,
    bucket: size,
    points: buckets.map(({ period }, index) => ({ period: period.toISOString(), ...figures[from + index]! })),
  });
  return { primary: series(primary, comparison.length), comparison: series(comparison, 0) };
}

export const toValue = (value: number): { value: number } => ({ value: round(value) });

/** To 2 decimals. */
export const round = (value: number): number => Math.round(value * 100) / 100;
