import { recordExport } from "../audit/record.ts";
import type { Member } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { toCsvLine } from "../values/csv.ts";
import { getUsage, type UsageMetrics, type UsageQuery } from "./metrics.ts";

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

/** Returns the usage as CSV, and records that it was exported. */
export async function exportUsage(ctx: Context<Member>, query: UsageQuery): Promise<string> {
  const usage = await getUsage(ctx, query);
  await recordExport(ctx, "usage.exported", query);
  return toCsv(usage);
}

/** Returns the rows as CSV (RFC 4180), with a header. The columns of usage without a task have the prefix `idle_`. */
function toCsv({ group_by, rows }: UsageMetrics): string {
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
