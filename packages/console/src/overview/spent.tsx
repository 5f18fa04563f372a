import { useResource } from "../resource.ts";
import { toView } from "../route.ts";
import { toDollars, toShort, toWhole } from "../ui/figures.ts";
import { Problem } from "../ui/parts.tsx";
import { Tiles } from "../ui/tiles.tsx";
import { readUsage, type UsageQuery } from "../usage/read.ts";

/** What the agents of these boards have used in this time. */
export function Spent({ query }: { query: Omit<UsageQuery, "group_by"> }) {
  const read = (signal: AbortSignal) => readUsage({ ...query, group_by: "day" }, signal);
  const { data, error, reload } = useResource(read, [query], () => false);
  const isEmpty = data && !data.total.work.entries && !data.total.idle.entries;
  const costOf = (cost: string | null) => (cost === null ? "no price" : toDollars(cost));
  return (
    <section>
      <div class="view-intro">
        <h2>Usage and cost</h2>
        <a href={toView("usage")}>Usage and budgets</a>
      </div>
      <Problem error={error} retry={reload} />
      {isEmpty && <p class="muted">No agent has reported usage in this time.</p>}
      {data && !isEmpty && (
        <Tiles
          tiles={[
            ["Cost", costOf(data.total.work.cost_usd), "as the providers reported it"],
            ["Tokens", toShort(data.total.work.total_tokens ?? 0), "for tasks"],
            ["Runs", toWhole(data.total.work.runs ?? 0), "that reported usage"],
            ["Idle", costOf(data.total.idle.cost_usd), `${toShort(data.total.idle.total_tokens ?? 0)} tokens without a task`],
          ]}
        />
      )}
    </section>
  );
}
