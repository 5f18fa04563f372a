import * as z from "zod";
import { Instant, lazyObject } from "../values/wire.ts";
import { type Bucket, BucketSize, RangeKey, type Timeline } from "./range.ts";

const period = Instant.describe("Start of the whole bucket (UTC), even when the window starts later.");

const Point = lazyObject(() => ({
  period,
  value: z.number().describe("The figure of the bucket, rounded to 2 decimals; 0 without data."),
})).meta({ id: "MetricPoint", description: "A figure of one bucket." });

const statusCount = (status: string) => z.int().describe(`Tasks in ${status} when the bucket ended.`);

const StatusCountsPoint = lazyObject(() => ({
  period,
  inbox: statusCount("inbox"),
  in_progress: statusCount("progress"),
  review: statusCount("review"),
  done: statusCount("done"),
})).meta({
  id: "MetricWorkPoint",
  description: "Number of tasks in each status at the end of one bucket; the last bucket shows the current numbers.",
});

const createSeriesSchema = <T extends z.ZodType>(point: T, id: string) =>
  lazyObject(() => ({
    range: RangeKey.describe("The requested range."),
    bucket: BucketSize.describe("Length of the time that one point covers."),
    points: z
      .array(point)
      .describe("Every bucket from the one that contains the start of the window to the one that contains its end."),
  })).meta({ id, description: "A metric over one window, oldest point first." });

const createComparisonSchema = <T extends z.ZodType>(series: T, id: string) =>
  lazyObject(() => ({
    primary: series.describe("The range that ends now."),
    comparison: series.describe("The equally long time before the range."),
  })).meta({ id, description: "A metric over a range and over the time before it." });

export const SeriesComparison = createComparisonSchema(createSeriesSchema(Point, "MetricSeries"), "MetricComparison");
export const StatusCountsComparison = createComparisonSchema(
  createSeriesSchema(StatusCountsPoint, "MetricWorkSeries"),
  "MetricWorkComparison",
);

interface Comparison<T> {
  primary: { range: RangeKey; bucket: BucketSize; points: ({ period: string } & T)[] };
  comparison: { range: RangeKey; bucket: BucketSize; points: ({ period: string } & T)[] };
}

/** Splits the figures of all buckets into the two series of the answer. The buckets of the comparison come first. */
export function toComparison<T extends object>(timeline: Timeline, figures: readonly T[]): Comparison<T> {
  const { range, size, comparison, primary } = timeline;
  const series = (buckets: readonly Bucket[], from: number) => ({
    range,
    bucket: size,
    points: buckets.map(({ period }, index) => ({ period: period.toISOString(), ...figures[from + index]! })),
  });
  return { primary: series(primary, comparison.length), comparison: series(comparison, 0) };
}

export const toPointValue = (value: number): { value: number } => ({ value: roundTo2Decimals(value) });

export const roundTo2Decimals = (value: number): number => Math.round(value * 100) / 100;
