import { useRef, useState } from "preact/hooks";
import "../styles/parts.css";

/** Width of the drawing in its own coordinates. The browser stretches it to the width of the page. */
const WIDTH = 1_000;
const HEIGHT = 140;
const GAP = 0.2;

export interface ColumnsPoint {
  name: string;
  /** The values of the column's parts from bottom to top, in the order of `kinds`. */
  values: readonly number[];
  /** The exact values, which screen readers read aloud and which are shown below the drawing. */
  text: string;
}

interface ColumnsProps {
  title: string;
  /** What the parts of a column represent. Each style name is also a CSS class. */
  kinds: readonly (readonly [style: string, label: string])[];
  points: readonly ColumnsPoint[];
  format: (value: number) => string;
}

const STEPS: Record<string, number> = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  Home: -Infinity,
  End: Infinity,
};

const sumOf = ({ values }: ColumnsPoint) => values.reduce((sum, value) => sum + value, 0);

/** The value at the top of the scale. */
export const topOf = (points: readonly ColumnsPoint[]): number => Math.max(0, ...points.map(sumOf)) || 1;

/** Shows columns over time. The chart is one tab stop, and the arrow keys move between columns. */
export function Columns({ title, kinds, points, format }: ColumnsProps) {
  const [at, setAt] = useState<number | null>(null);
  const drawing = useRef<SVGSVGElement>(null);
  if (points.length === 0) return null;
  const max = topOf(points);
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
      <div class="chart-days">
        <div class="chart-scale muted" aria-hidden="true">
          <span>{format(max)}</span>
          <span>{format(0)}</span>
        </div>
        <svg
          ref={drawing}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          height={HEIGHT}
          role="group"
          aria-label={title}
          onKeyDown={onKeyDown}
        >
          {points.map((point, index) => (
            <g
              key={point.name}
              data-bar
              role="img"
              aria-label={`${point.name}: ${point.text}`}
              tabIndex={index === (at ?? 0) ? 0 : -1}
              class={index === at ? "is-current" : ""}
              onFocus={() => setAt(index)}
              onPointerEnter={() => setAt(index)}
            >
              <Column point={point} kinds={kinds} index={index} count={points.length} max={max} />
            </g>
          ))}
        </svg>
      </div>
      <div class="chart-ends muted" aria-hidden="true">
        <span>{points[0]!.name}</span>
        <span>{points.at(-1)!.name}</span>
      </div>
      <p class="chart-value" aria-hidden="true">
        {at === null ? (
          <span class="muted">Point at a column, or go to it with Tab and the arrows.</span>
        ) : (
          `${points[at]?.name}: ${points[at]?.text}`
        )}
      </p>
    </figure>
  );
}

interface ColumnProps {
  point: ColumnsPoint;
  kinds: ColumnsProps["kinds"];
  index: number;
  count: number;
  max: number;
}

function Column({ point, kinds, index, count, max }: ColumnProps) {
  const slot = WIDTH / count;
  const [x, width] = [index * slot + (slot * GAP) / 2, slot * (1 - GAP)];
  let top = HEIGHT;
  return (
    <>
      <rect class="hit" x={index * slot} y={0} width={slot} height={HEIGHT} />
      {kinds.map(([style], kind) => {
        const height = ((point.values[kind] ?? 0) / max) * HEIGHT;
        top -= height;
        return <rect key={style} class={style} x={x} y={top} width={width} height={height} />;
      })}
    </>
  );
}
