import { toBoard } from "../route.ts";
import { boards } from "../session.ts";
import type { UsageMetrics, UsageRow, UsageSums } from "../types.ts";
import { toExactDollars, toWhole } from "../ui/figures.ts";
import { nameOf } from "./name.ts";

const COLUMNS: [label: string, text: (row: UsageRow) => string][] = [
  ["Runs", ({ work }) => toWhole(work.runs ?? 0)],
  ["Tokens in", ({ work }) => toWhole(work.input_tokens ?? 0)],
  ["of them cached", ({ work }) => toWhole(work.cached_input_tokens ?? 0)],
  ["Tokens out", ({ work }) => toWhole(work.output_tokens ?? 0)],
  ["Cost", ({ work }) => costOf(work)],
  ["Idle tokens", ({ idle }) => toWhole(idle.total_tokens ?? 0)],
  ["Idle cost", ({ idle }) => costOf(idle)],
];

const costOf = ({ cost_usd }: UsageSums): string => (cost_usd === null ? "–" : toExactDollars(cost_usd));

/** Shows the exact numbers of the chart. If an agent reports nothing, its cells say so instead of showing zero. */
export function UsageTable({ data }: { data: UsageMetrics }) {
  const total: UsageRow = { key: "", name: "", reported: true, ...data.total };
  const isShortened = data.groups > data.rows.length;
  return (
    <div class="table" tabIndex={0} role="region" aria-label={`Usage by ${data.group_by}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{data.group_by}</th>
            {COLUMNS.map(([label]) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row) => (
            <tr key={row.key ?? "none"}>
              <th scope="row" dir="auto">
                <Name row={row} data={data} />
              </th>
              {row.reported || data.group_by !== "agent" ? (
                COLUMNS.map(([label, text]) => <td key={label}>{text(row)}</td>)
              ) : (
                <td class="muted not-reported" colSpan={COLUMNS.length}>
                  not reported
                </td>
              )}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{isShortened ? `All ${toWhole(data.groups)}` : "Sum"}</th>
            {COLUMNS.map(([label, text]) => (
              <td key={label}>{text(total)}</td>
            ))}
          </tr>
        </tfoot>
      </table>
      {isShortened && <p class="muted">The {data.rows.length} most expensive ones are shown; the sum is of all.</p>}
    </div>
  );
}

function Name({ row, data }: { row: UsageRow; data: UsageMetrics }) {
  const name = nameOf(row, data.group_by);
  const isBoard = data.group_by === "board" && boards.value?.some(({ id }) => id === row.key);
  return isBoard ? <a href={toBoard(row.key!)}>{name}</a> : <>{name}</>;
}
