import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import "../styles/parts.css";

/** Width of the drawing in its own coordinates. The browser stretches it to the width of the page. */
const WIDTH = 1_000;
const HEIGHT = 140;
const BAR_ROW = 26;
const GAP = 0.2;

export interface ChartPoint {
  name: string;
  /** The values of the parts from bottom to top, or from left to right, in the order of `kinds`. */
  values: readonly number[];
  /** The exact values, which screen readers read aloud and which are shown below the drawing. */
  text: string;
}

interface ChartProps {
  title: string;
  /** What the parts of a column or bar represent. Each style name is also a CSS class. */
  kinds: readonly (readonly [style: string, label: string])[];
  points: readonly ChartPoint[];
  format: (value: number) => string;
  /** Columns show how values change over time. Bars compare groups, whose names are at the left. */
  shape: "column" | "bar";
  /** Height of the columns. */
  height?: number;
  /** What is shown below the drawing. */
  children?: ComponentChildren;
}

const STEPS: Record<string, number> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  Home: -Infinity,
  End: Infinity,
};

const sumOf = ({ values }: ChartPoint) => values.reduce((sum, value) => sum + value, 0);

/** The value at the top of the scale. */
export const topOf = (points: readonly ChartPoint[]): number => Math.max(0, ...points.map(sumOf)) || 1;

/** Shows columns or bars. The chart is one tab stop, and the arrow keys move between its points. */
export function Chart({ title, kinds, points, format, shape, height: columns = HEIGHT, children }: ChartProps) {
  const [at, setAt] = useState<number | null>(null);
  const drawing = useRef<SVGSVGElement>(null);
  if (points.length === 0) return null;
  const max = topOf(points);
  const isColumns = shape === "column";
  const height = isColumns ? columns : points.length * BAR_ROW;
  const focus = (index: number) => {
    const next = Math.min(points.length - 1, Math.max(0, index));
    setAt(next);
    drawing.current?.querySelectorAll<SVGGElement>("[data-bar]")[next]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    focus((at ?? 0) + step);
  };
  const textOf = ({ name, text }: ChartPoint) => `${name}: ${text}`;
  const current = at === null ? undefined : points[at];
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        {kinds.length > 1 && (
          <span class="legend">
            {kinds.map(([style, label]) => (
              <span key={style}>
                <i class={`key ${style}`} /> {label}{" "}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div class={isColumns ? "chart-days" : "chart-groups"}>
        {isColumns ? (
          <div class="chart-scale muted" aria-hidden="true">
            <span>{format(max)}</span>
            <span>{format(0)}</span>
          </div>
        ) : (
          <ul class="chart-names" aria-hidden="true">
            {points.map(({ name }, index) => (
              <li key={index} dir="auto">
                {name}
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
          onKeyDown={onKeyDown}
        >
          {points.map((point, index) => (
            <g
              key={index}
              data-bar
              role="img"
              aria-label={textOf(point)}
              tabIndex={index === (at ?? 0) ? 0 : -1}
              class={index === at ? "is-current" : ""}
              onFocus={() => setAt(index)}
              onPointerEnter={() => setAt(index)}
            >
              {isColumns ? (
                <Column point={point} kinds={kinds} index={index} count={points.length} max={max} height={height} />
              ) : (
                <Bar point={point} kinds={kinds} index={index} max={max} />
              )}
            </g>
          ))}
        </svg>
      </div>
      {isColumns && (
        <div class="chart-ends muted" aria-hidden="true">
          <span>{points[0]!.name}</span>
          <span>{points.at(-1)!.name}</span>
        </div>
      )}
      <p class="chart-value" aria-hidden="true">
        {at === null ? (
          <span class="muted">Point at a {shape}, or go to it with Tab and the arrows.</span>
        ) : (
          current && textOf(current)
        )}
      </p>
      {children}
    </figure>
  );
}

interface PartsProps {
  point: ChartPoint;
  kinds: ChartProps["kinds"];
  index: number;
  max: number;
}

function Column({ point, kinds, index, count, max, height }: PartsProps & { count: number; height: number }) {
  const slot = WIDTH / count;
  const [x, width] = [index * slot + (slot * GAP) / 2, slot * (1 - GAP)];
  let top = height;
  return (
    <>
      <rect class="hit" x={index * slot} y={0} width={slot} height={height} />
      {kinds.map(([style], kind) => {
        const size = ((point.values[kind] ?? 0) / max) * height;
        top -= size;
        return <rect key={style} class={style} x={x} y={top} width={width} height={size} />;
      })}
    </>
  );
}

function Bar({ point, kinds, index, max }: PartsProps) {
  const [y, height] = [index * BAR_ROW + 4, BAR_ROW - 8];
  let end = 0;
  return (
    <>
      <rect class="hit" x={0} y={index * BAR_ROW} width={WIDTH} height={BAR_ROW} />
      {kinds.map(([style], kind) => {
        const size = ((point.values[kind] ?? 0) / max) * WIDTH;
        end += size;
        return <rect key={style} class={style} x={end - size} y={y} width={size} height={height} />;
      })}
    </>
  );
}
