import { dateFormat } from "../language.ts";
import type { Dashboard } from "../types.ts";
import { Chart, type ChartPoint, topOf } from "../ui/chart.tsx";
import { toWhole } from "../ui/figures.ts";
import { SavePicture } from "../ui/picture.tsx";
import { Table } from "../ui/table.tsx";
import { toDay, toMoment } from "../ui/time.tsx";

type Comparison = Dashboard["throughput"];
type Bucket = Comparison["primary"]["bucket"];

const MONTH = dateFormat({ month: "short", year: "numeric", timeZone: "UTC" });
const DAY = dateFormat({ day: "numeric", month: "short", timeZone: "UTC" });
const NAMES: Record<Bucket, (period: string) => string> = {
  hour: dateFormat({ hour: "2-digit", minute: "2-digit" }),
  day: DAY,
  week: DAY,
  month: MONTH,
};
/** A picture is seen later, so its dates have the year too. */
const DATES: Record<Bucket, (period: string) => string> = { hour: toMoment, day: toDay, week: toDay, month: MONTH };

/** Returns the first and the last time of a series. */
function endsOf({ bucket, points }: { bucket: Bucket; points: readonly { period: string }[] }): readonly [string, string] {
  const [first, last] = [points[0], points.at(-1)];
  return [first ? DATES[bucket](first.period) : "", last ? DATES[bucket](last.period) : ""];
}

interface Measure {
  key: "throughput" | "cycle_time" | "error_rate";
  title: string;
  unit: string;
}

const MEASURES: readonly Measure[] = [
  { key: "throughput", title: "Throughput: tasks handed in", unit: "tasks" },
  { key: "cycle_time", title: "Cycle time: hours from start to done", unit: "h" },
  { key: "error_rate", title: "Error rate: failed events", unit: "%" },
];

const WORK = [
  ["done", "done"],
  ["review", "in review"],
  ["in_progress", "in progress"],
  ["inbox", "inbox"],
] as const;

/** Shows the charts, each with its numbers in a table. `about` names the time and the boards that they cover. */
export function Figures({ data, about }: { data: Dashboard; about: string }) {
  return (
    <div class="figures">
      {MEASURES.map((measure) => (
        <Measured key={measure.key} measure={measure} comparison={data[measure.key]} about={about} />
      ))}
      <Work wip={data.wip} about={about} />
    </div>
  );
}

interface Row extends ChartPoint {
  /** The cells of a table row after its first cell, which is the name. */
  cells: readonly string[];
}

function Measured({
  measure: { key, title, unit },
  comparison: { primary, comparison },
  about,
}: {
  measure: Measure;
  comparison: Comparison;
  about: string;
}) {
  const rows = primary.points.map(({ period, value }, index): Row => {
    const before = comparison.points[index]?.value ?? 0;
    return {
      name: NAMES[primary.bucket](period),
      values: [value],
      text: `${toWhole(value)} ${unit}, before that ${toWhole(before)} ${unit}`,
      cells: [toWhole(value), toWhole(before)],
    };
  });
  const columns = [`Now (${unit})`, "Same time before"];
  return (
    <Figure
      name={key}
      title={title}
      about={about}
      ends={endsOf(primary)}
      kinds={[["work", unit]]}
      rows={rows}
      columns={columns}
    />
  );
}

function Work({ wip: { primary }, about }: { wip: Dashboard["wip"]; about: string }) {
  const rows = primary.points.map((point): Row => {
    const values = WORK.map(([status]) => point[status]);
    return {
      name: NAMES[primary.bucket](point.period),
      values,
      text: WORK.map(([status, label]) => `${toWhole(point[status])} ${label}`).join(", "),
      cells: values.map(toWhole),
    };
  });
  const kinds = WORK.map(([status, label]) => [`status-${status}`, label] as const);
  const columns = WORK.map(([, label]) => label);
  return (
    <Figure
      name="wip"
      title="Work: tasks in each state"
      about={about}
      ends={endsOf(primary)}
      kinds={kinds}
      rows={rows}
      columns={columns}
    />
  );
}

interface FigureProps {
  name: string;
  title: string;
  about: string;
  ends: readonly [string, string];
  kinds: readonly (readonly [string, string])[];
  rows: readonly Row[];
  columns: readonly string[];
}

function Figure({ name, title, about, ends, kinds, rows, columns }: FigureProps) {
  return (
    <section class="figure" data-figure={name}>
      <Chart title={title} kinds={kinds} points={rows} format={toWhole} shape="column" />
      <details>
        <summary>Numbers of “{title.split(":")[0]}”</summary>
        <Table
          label={title}
          rows={rows}
          keyOf={(row) => row.name}
          columns={[
            { label: "From", cell: (row) => row.name },
            ...columns.map((label, index) => ({ label, cell: (row: Row) => row.cells[index] })),
          ]}
        />
        <SavePicture name={name} frame={{ title, about, kinds, ends, scale: [toWhole(topOf(rows)), toWhole(0)] }} />
      </details>
    </section>
  );
}
