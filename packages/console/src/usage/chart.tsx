import type { UsageMetrics, UsageSums } from "../types.ts";
import { Chart, type ChartPoint, topOf } from "../ui/chart.tsx";
import { toDollars, toExactDollars, toShort, toWhole } from "../ui/figures.ts";
import { SavePicture } from "../ui/picture.tsx";
import { toDay } from "../ui/time.tsx";
import { nameOf } from "./name.ts";

interface MeasureOf {
  label: string;
  value: (sums: UsageSums) => number;
  /** Returns the exact value as text, or a text that says that no value was reported. */
  text: (sums: UsageSums) => string;
  axis: (value: number) => string;
}

export const MEASURES = {
  cost: {
    label: "Cost",
    value: ({ cost_usd }) => Number(cost_usd ?? 0),
    text: ({ cost_usd }) => (cost_usd === null ? "no price" : toExactDollars(cost_usd)),
    axis: (value) => toDollars(String(value)),
  },
  tokens: {
    label: "Tokens",
    value: ({ total_tokens }) => total_tokens ?? 0,
    text: ({ total_tokens }) => `${toWhole(total_tokens ?? 0)} tokens`,
    axis: toShort,
  },
  runs: {
    label: "Runs",
    value: ({ runs }) => runs ?? 0,
    text: ({ runs }) => `${toWhole(runs ?? 0)} runs`,
    axis: toShort,
  },
} satisfies Record<string, MeasureOf>;
export type Measure = keyof typeof MEASURES;

const HEIGHT = 180;
/** Only this many groups have a bar. The table below the chart has all groups. */
const MAX_GROUPS = 12;

const KINDS = [
  ["work", "work"],
  ["idle", "idle"],
] as const;

/** Shows usage for tasks, and on top of it idle usage: a column for each day, or a bar for each group. The table has the same numbers. */
export function UsageChart({ data, measure, about }: { data: UsageMetrics; measure: Measure; about: string }) {
  const { value, text, label, axis }: MeasureOf = MEASURES[measure];
  const isByDay = data.group_by === "day";
  const reported = data.rows.filter((row) => row.reported);
  const rows = isByDay ? data.rows : reported.slice(0, MAX_GROUPS);
  const points = rows.map((row): ChartPoint => {
    const idle = value(row.idle);
    return {
      name: nameOf(row, data.group_by),
      values: [value(row.work), idle],
      text: `${text(row.work)}${idle > 0 ? `, idle ${text(row.idle)}` : ""}`,
    };
  });
  const title = `${label} by ${data.group_by}`;
  const dates = [toDay(data.from), toDay(data.until)] as const;
  const labels = isByDay
    ? { about, ends: dates, scale: [axis(topOf(points)), axis(0)] as const }
    : { about: `${about}, ${dates.join(" to ")}`, bars: points.map(({ name, text }) => [name, text] as const) };
  return (
    <Chart title={title} kinds={KINDS} points={points} format={axis} shape={isByDay ? "column" : "bar"} height={HEIGHT}>
      {!isByDay && reported.length > points.length && <p class="muted">The {points.length} first rows of the table.</p>}
      <div>
        <SavePicture name={`${measure}-by-${data.group_by}`} frame={{ title, kinds: KINDS, ...labels }} />
      </div>
    </Chart>
  );
}
