import { signal } from "@preact/signals";
import { useResource } from "../resource.ts";
import { boardName, boards } from "../session.ts";
import type { UsageGrouping, UsageMetrics, UsageSums } from "../types.ts";
import { toDollars, toShort, toWhole } from "../ui/figures.ts";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { RANGE_NAMES } from "../ui/ranges.ts";
import { optionOf, Select } from "../ui/select.tsx";
import { type Tile, Tiles } from "../ui/tiles.tsx";
import { attempt } from "../ui/toast.tsx";
import { Budgets } from "./budgets.tsx";
import { type Measure, MEASURES, UsageChart } from "./chart.tsx";
import { readUsage, saveCsv, type UsageQuery } from "./read.ts";
import { UsageTable } from "./table.tsx";
import "../styles/parts.css";
import "../styles/usage.css";

const GROUPINGS: readonly UsageGrouping[] = ["day", "agent", "board", "model", "task"];

/** The choices are kept while other views are open. */
const query = signal<UsageQuery>({ range_key: "7d", group_by: "day" });
const measure = signal<Measure>("cost");

/** Shows what agents have used, and what they may use. */
export function Usage() {
  const chosen = query.value;
  const { data, error, reload } = useResource(
    (signal) => readUsage(chosen, signal),
    [chosen],
    () => false,
  );
  const isEmpty = data && data.rows.every((row) => !row.reported) && !data.total.work.entries && !data.total.idle.entries;
  return (
    <main class="view usage">
      <div class="view-intro">
        <h1>Usage</h1>
        <Filters />
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the usage" />}
      {isEmpty && (
        <Empty title="No agent has reported usage in this time.">
          Agents report tokens and prices with their work; the service never computes a price.
        </Empty>
      )}
      {data && (!isEmpty || data.group_by === "agent") && (
        <>
          <Totals data={data} />
          <UsageChart
            key={chosen.group_by}
            data={data}
            measure={measure.value}
            about={chosen.board_id ? boardName(chosen.board_id) : "All boards"}
          />
          <UsageTable data={data} />
        </>
      )}
      <Budgets />
    </main>
  );
}

function Filters() {
  const { range_key, group_by, board_id = "" } = query.value;
  const choose = (change: Partial<UsageQuery>) => (query.value = { ...query.value, ...change });
  const chooseBoard = (id: string) => {
    const { board_id: _board_id, ...rest } = query.value;
    query.value = id ? { ...rest, board_id: id } : rest;
  };
  return (
    <div class="filters">
      <Select
        label="Time"
        value={range_key}
        options={Object.entries(RANGE_NAMES)}
        onChoose={(range) => choose({ range_key: range as UsageQuery["range_key"] })}
      />
      <Select
        label="Group by"
        value={group_by}
        options={GROUPINGS.map((name) => [name, `by ${name}`] as const)}
        onChoose={(group) => choose({ group_by: group as UsageGrouping })}
      />
      <Select
        label="Board"
        value={board_id}
        options={[["", "All boards"], ...(boards.value ?? []).map(optionOf)]}
        onChoose={chooseBoard}
      />
      <Select
        label="Chart of"
        value={measure.value}
        options={Object.entries(MEASURES).map(([name, { label }]) => [name, label] as const)}
        onChoose={(name) => (measure.value = name as Measure)}
      />
      <button type="button" onClick={() => attempt("The file was not made", () => saveCsv(query.value))}>
        Save as CSV
      </button>
    </div>
  );
}

const costOf = ({ cost_usd }: UsageSums): string => (cost_usd === null ? "no price" : toDollars(cost_usd));

function Totals({ data: { total } }: { data: UsageMetrics }) {
  const { work, idle } = total;
  const tiles: Tile[] = [
    ["Cost", costOf(work), work.cost_usd === null ? "none was reported" : "as the providers reported it"],
    ["Tokens", toShort(work.total_tokens ?? 0), `${toShort(work.input_tokens ?? 0)} in, ${toShort(work.output_tokens ?? 0)} out`],
    ["Runs", toWhole(work.runs ?? 0), "that reported usage"],
    ["Idle", costOf(idle), `${toShort(idle.total_tokens ?? 0)} tokens without a task`],
  ];
  return <Tiles tiles={tiles} />;
}
