import { toCsvLine } from "../values/csv.ts";
import type { UsageMetrics } from "./metrics.ts";

const SUMS = [
  "entries",
  "runs",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "reasoning_tokens",
  "total_tokens",
  "cost_usd",
] as const;

/** Returns the rows as CSV (RFC 4180), with a header. The columns of usage without a task have the prefix `idle_`. */
export function toCsv({ group_by, rows }: UsageMetrics): string {
  const header = [group_by, "name", "reported", ...SUMS, ...SUMS.map((name) => `idle_${name}`)];
  const lines = rows.map(({ key, name, reported, work, idle }) => [
    key,
    name,
    reported,
    ...SUMS.map((sum) => work[sum]),
    ...SUMS.map((sum) => idle[sum]),
  ]);
  return [header, ...lines].map(toCsvLine).join("");
}
