import { useRef, useState } from "preact/hooks";
import type { UsageMetrics, UsageRow, UsageSums } from "../types.ts";
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

/** Width of the drawing in its own coordinates. The browser stretches it to the width of the page. */
const WIDTH = 1_000;
const HEIGHT = 180;
const BAR_ROW = 26;
/** Only this many groups have a bar. The table below the chart has all groups. */
const MAX_GROUPS = 12;
const GAP = 0.2;

interface Bar {
  row: UsageRow;
  name: string;
  work: number;
  idle: number;
  /** The exact values. */
  parts: string;
  text: string;
}

const KINDS = [
  ["work", "work"],
  ["idle", "idle"],
] as const;

/**
 * Shows a bar for each group: usage for tasks, and on top of it idle usage. The chart is one tab stop, the arrow keys move between
 * bars, and the table has the same numbers.
 */
export function Chart({ data, measure, about }: { data: UsageMetrics; measure: Measure; about: string }) {
  const [at, setAt] = useState<number | null>(null);
  const drawing = useRef<SVGSVGElement>(null);
  const { value, text, label, axis }: MeasureOf = MEASURES[measure];
  const isByDay = data.group_by === "day";
  const reported = data.rows.filter((row) => row.reported);
  const rows = isByDay ? data.rows : reported.slice(0, MAX_GROUPS);
  const bars = rows.map((row): Bar => {
    const name = nameOf(row, data.group_by);
    const idle = value(row.idle);
    const parts = `${text(row.work)}${idle > 0 ? `, idle ${text(row.idle)}` : ""}`;
    return { row, name, work: value(row.work), idle, parts, text: `${name}: ${parts}` };
  });
  if (bars.length === 0) return null;
  const max = Math.max(...bars.map(({ work, idle }) => work + idle)) || 1;
  const focus = (index: number) => {
    const next = Math.min(bars.length - 1, Math.max(0, index));
    setAt(next);
    drawing.current?.querySelectorAll<SVGGElement>("[data-bar]")[next]?.focus();
  };
  const steps: Record<string, number> = {
    ArrowRight: 1,
    ArrowDown: 1,
    ArrowLeft: -1,
    ArrowUp: -1,
    Home: -Infinity,
    End: Infinity,
  };
  const height = isByDay ? HEIGHT : bars.length * BAR_ROW;
  const title = `${label} by ${data.group_by}`;
  const dates = [toDay(data.from), toDay(data.until)] as const;
  const labels = isByDay
    ? { about, ends: dates, scale: [axis(max), axis(0)] as const }
    : { about: `${about}, ${dates.join(" to ")}`, bars: bars.map(({ name, parts }) => [name, parts] as const) };
  return (
    <figure class="chart" data-figure={data.group_by}>
      <figcaption>
        <span>{title}</span>
        <span class="legend">
          {KINDS.map(([style, text]) => (
            <span key={style}>
              <i class={`key ${style}`} /> {text}{" "}
            </span>
          ))}
        </span>
      </figcaption>
      <div class={isByDay ? "chart-days" : "chart-groups"}>
        {isByDay ? (
          <div class="chart-scale muted" aria-hidden="true">
            <span>{axis(max)}</span>
            <span>{axis(0)}</span>
          </div>
        ) : (
          <ul class="chart-names" aria-hidden="true">
            {bars.map((bar, index) => (
              <li key={index} dir="auto">
                {bar.name}
              </li>
            ))}
          </ul>
        )}
        <svg
          ref={drawing}
          viewBox={`0 0 ${WIDTH} ${height}`}
          preserveAspectRatio="none"
          height={height}
          role="group"
          aria-label={title}
          onKeyDown={(event) => {
            const step = steps[event.key];
            if (step === undefined) return;
            event.preventDefault();
            focus((at ?? 0) + step);
          }}
        >
          {bars.map((bar, index) => (
            <g
              key={bar.row.key ?? "none"}
              data-bar
              role="img"
              aria-label={bar.text}
              tabIndex={index === (at ?? 0) ? 0 : -1}
              class={index === at ? "is-current" : ""}
              onFocus={() => setAt(index)}
              onPointerEnter={() => setAt(index)}
            >
              {isByDay ? (
                <Column bar={bar} index={index} count={bars.length} max={max} />
              ) : (
                <Row bar={bar} index={index} max={max} />
              )}
            </g>
          ))}
        </svg>
      </div>
      {isByDay && (
        <div class="chart-ends muted" aria-hidden="true">
          <span>{bars[0]!.name}</span>
          <span>{bars.at(-1)!.name}</span>
        </div>
      )}
      <p class="chart-value" aria-hidden="true">
        {at === null ? <span class="muted">Point at a bar, or go to it with Tab and the arrows.</span> : (bars[at]?.text ?? "")}
      </p>
      {!isByDay && reported.length > bars.length && <p class="muted">The {bars.length} first rows of the table.</p>}
      <div>
        <SavePicture name={`${measure}-by-${data.group_by}`} frame={{ title, kinds: KINDS, ...labels }} />
      </div>
    </figure>
  );
}

function Column({ bar, index, count, max }: { bar: Bar; index: number; count: number; max: number }) {
  const slot = WIDTH / count;
  const [x, width] = [index * slot + (slot * GAP) / 2, slot * (1 - GAP)];
  const [work, idle] = [(bar.work / max) * HEIGHT, (bar.idle / max) * HEIGHT];
  return (
    <>
      <rect class="hit" x={index * slot} y={0} width={slot} height={HEIGHT} />
      <rect class="work" x={x} y={HEIGHT - work} width={width} height={work} />
      <rect class="idle" x={x} y={HEIGHT - work - idle} width={width} height={idle} />
    </>
  );
}

function Row({ bar, index, max }: { bar: Bar; index: number; max: number }) {
  const [work, idle] = [(bar.work / max) * WIDTH, (bar.idle / max) * WIDTH];
  const [y, height] = [index * BAR_ROW + 4, BAR_ROW - 8];
  return (
    <>
      <rect class="hit" x={0} y={index * BAR_ROW} width={WIDTH} height={BAR_ROW} />
      <rect class="work" x={0} y={y} width={work} height={height} />
      <rect class="idle" x={work} y={y} width={idle} height={height} />
    </>
  );
}
