import { computed, signal } from "@preact/signals";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toBoard, toView } from "../route.ts";
import { boardName, boards } from "../session.ts";
import type { Dashboard } from "../types.ts";
import { toWhole } from "../ui/figures.ts";
import { Loading, Problem } from "../ui/parts.tsx";
import { RANGE_NAMES } from "../ui/ranges.ts";
import { Select } from "../ui/select.tsx";
import { type Tile, Tiles } from "../ui/tiles.tsx";
import { Time } from "../ui/time.tsx";
import { Figures } from "./figures.tsx";
import { Spent } from "./spent.tsx";

const LIMIT = 200;

interface OverviewQuery {
  range_key: Dashboard["range"];
  board_id?: string;
  group_id?: string;
}

/** The choices are kept while other views are open. */
const query = signal<OverviewQuery>({ range_key: "7d" });

/** The name of the chosen group. The query has only its id. */
const groupName = signal("");
const placeName = computed(() => {
  const { board_id, group_id } = query.value;
  return board_id ? boardName(board_id) : group_id ? groupName.value : "all boards";
});

/** Shows how the work proceeds: what gets done, how long it takes, what fails, and what waits. */
export function Overview() {
  const chosen = query.value;
  const read = (stop: AbortSignal) => api.get("/api/v1/metrics/dashboard", { params: { query: chosen }, signal: stop });
  const { data, error, reload } = useResource(read, [chosen], ({ type }) => type === "task");
  return (
    <main class="view">
      <div class="view-intro">
        <h1>Overview</h1>
        <Filters />
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="the figures" />}
      {data && (
        <>
          <Totals data={data} />
          <Spent query={chosen} />
          <Figures data={data} about={`${RANGE_NAMES[data.range]}, ${placeName.value}`} />
          <Pending data={data} />
        </>
      )}
    </main>
  );
}

function Filters() {
  const read = (stop: AbortSignal) => api.get("/api/v1/board-groups", { params: { query: { limit: LIMIT } }, signal: stop });
  const groups = useResource(read, [], () => false, true);
  const { range_key, board_id, group_id } = query.value;
  const choosePlace = (place: string) => {
    const [kind, id] = place.split(":");
    if (!id) query.value = { range_key };
    else query.value = kind === "board" ? { range_key, board_id: id } : { range_key, group_id: id };
  };
  return (
    <div class="filters">
      <Select
        label="Time"
        value={range_key}
        options={Object.entries(RANGE_NAMES)}
        onChoose={(range) => (query.value = { ...query.value, range_key: range as Dashboard["range"] })}
      />
      <Select
        label="Boards"
        value={board_id ? `board:${board_id}` : group_id ? `group:${group_id}` : ""}
        options={[
          ["", "All boards"],
          ...(boards.value ?? []).map(({ id, name }) => [`board:${id}`, name] as const),
          ...(groups.data?.items ?? []).map(({ id, name }) => [`group:${id}`, `Group ${name}`] as const),
        ]}
        onChoose={(place, select) => {
          groupName.value = select.selectedOptions[0]?.text ?? "";
          choosePlace(place);
        }}
      />
      <button type="button" onClick={() => print()}>
        Print
      </button>
    </div>
  );
}

function Totals({ data: { kpis } }: { data: Dashboard }) {
  const median = kpis.median_cycle_time_hours_7d;
  const tiles: Tile[] = [
    ["Agents at work", toWhole(kpis.active_agents), "seen in this time"],
    ["In progress", toWhole(kpis.in_progress_tasks), `${toWhole(kpis.inbox_tasks)} wait in the inbox`],
    ["In review", toWhole(kpis.review_tasks), `${toWhole(kpis.done_tasks)} are done`],
    ["Cycle time", median === null ? "–" : `${median} h`, "median of the last 7 days"],
    ["Errors", `${kpis.error_rate_pct} %`, "of all events"],
  ];
  return <Tiles tiles={tiles} />;
}

function Pending({ data: { pending_approvals: pending } }: { data: Dashboard }) {
  if (pending.total === 0) return null;
  return (
    <section>
      <div class="view-intro">
        <h2>
          Waits for a person <span class="count">{pending.total}</span>
        </h2>
        <a href={toView("needs-you")}>Decide</a>
      </div>
      <div class="rows">
        {pending.items.map((item) => (
          <div class="row" key={item.approval_id}>
            <div class="grow">
              <strong dir="auto">{item.action_type}</strong>
              <span class="muted" dir="auto">
                {item.task_title ? `${item.task_title} · ` : ""}
                <a href={toBoard(item.board_id)}>{item.board_name}</a> · <Time at={item.created_at} />
              </span>
            </div>
          </div>
        ))}
      </div>
    </section>
  );
}
