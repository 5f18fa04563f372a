import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { toRun } from "../route.ts";
import type { Run } from "../types.ts";
import { toDollars, toShort } from "../ui/figures.ts";
import { List } from "../ui/list.tsx";
import { Duration, Time } from "../ui/time.tsx";

const LIMIT = 10;

function usedBy({ usage: { input_tokens, output_tokens, cost_usd } }: Run): string {
  const tokens = input_tokens + output_tokens;
  return [tokens > 0 ? `${toShort(tokens)} tokens` : "", cost_usd === null ? "" : toDollars(cost_usd)]
    .filter(Boolean)
    .join(" · ");
}

/** Shows the newest runs of an agent on its board. */
export function AgentRuns({ agent_id, board_id }: { agent_id: string; board_id: string }) {
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/boards/{board_id}/runs", { params: { path: { board_id }, query: { agent_id, limit: LIMIT } }, signal });
  const from = useResource(read, [agent_id, board_id], ({ type }) => type === "run", true);
  return (
    <section>
      <h2>Runs</h2>
      <List what="the runs" from={from} empty={["It has not run yet.", "A run begins when the agent takes a task."]}>
        {(run) => (
          <div class="row" key={run.id}>
            <div class="grow">
              <span class="row-head">
                <a href={toRun(board_id, run.task_id, run.id)}>
                  Run of <Time at={run.started_at} />
                </a>
                <span class={run.status === "running" ? "badge accent" : "badge"}>{run.status}</span>
              </span>
              <span class="muted">
                <Duration from={run.started_at} to={run.ended_at} />
                {usedBy(run) && ` · ${usedBy(run)}`}
              </span>
            </div>
          </div>
        )}
      </List>
    </section>
  );
}
