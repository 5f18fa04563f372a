import type { Dashboard } from "../types.ts";
import { Columns, type ColumnsPoint } from "../ui/columns.tsx";
import { toWhole } from "../ui/figures.ts";
import { Table } from "../ui/table.tsx";
import { savePicture } from "./picture.ts";

type Comparison = Dashboard["throughput"];
type Bucket = Comparison["primary"]["bucket"];

const FORMATS: Record<Bucket, Intl.DateTimeFormatOptions> = {
  hour: { hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short", timeZone: "UTC" },
  week: { day: "numeric", month: "short", timeZone: "UTC" },
  month: { month: "short", year: "numeric", timeZone: "UTC" },
};

function nameOf(period: string, bucket: Bucket): string {
  return new Intl.DateTimeFormat(undefined, FORMATS[bucket]).format(new Date(period));
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

/** Shows the charts, each with its numbers in a table. */
export function Figures({ data }: { data: Dashboard }) {
  return (
    <div class="figures">
      {MEASURES.map((measure) => (
        <Measured key={measure.key} measure={measure} comparison={data[measure.key]} />
      ))}
      <Work wip={data.wip} />
    </div>
  );
}

interface Row extends ColumnsPoint {
  /** The cells of a table row after its first cell, which is the name. */
  cells: readonly string[];
}

function Measured({
  measure: { key, title, unit },
  comparison: { primary, comparison },
}: {
  measure: Measure;
  comparison: Comparison;
}) {
  const rows = primary.points.map(({ period, value }, index): Row => {
    const before = comparison.points[index]?.value ?? 0;
    return {
      name: nameOf(period, primary.bucket),
      values: [value],
      text: `${toWhole(value)} ${unit}, before that ${toWhole(before)} ${unit}`,
      cells: [toWhole(value), toWhole(before)],
    };
  });
  return <Figure name={key} title={title} kinds={[["work", unit]]} rows={rows} columns={[`Now (${unit})`, "Same time before"]} />;
}

function Work({ wip: { primary } }: { wip: Dashboard["wip"] }) {
  const rows = primary.points.map((point): Row => {
    const values = WORK.map(([status]) => point[status]);
    return {
      name: nameOf(point.period, primary.bucket),
      values,
      text: WORK.map(([status, label]) => `${toWhole(point[status])} ${label}`).join(", "),
      cells: values.map(toWhole),
    };
  });
  const kinds = WORK.map(([status, label]) => [`status-${status}`, label] as const);
  return (
    <Figure name="wip" title="Work: tasks in each state" kinds={kinds} rows={rows} columns={WORK.map(([, label]) => label)} />
  );
}

interface FigureProps {
  name: string;
  title: string;
  kinds: readonly (readonly [string, string])[];
  rows: readonly Row[];
  columns: readonly string[];
}

function Figure({ name, title, kinds, rows, columns }: FigureProps) {
  return (
    <section class="figure" data-figure={name}>
      <Columns title={title} kinds={kinds} points={rows} format={toWhole} />
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
        <button type="button" class="small" onClick={() => savePicture(`[data-figure="${name}"] svg`, name)}>
          Save as a picture
        </button>
      </details>
    </section>
  );
}
