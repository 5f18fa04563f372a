import { useResource } from "../resource.ts";
import { toRun } from "../route.ts";
import { Problem } from "../ui/parts.tsx";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { readRuns } from "./read.ts";
import { RunFigures, RunLinks, RunStatus } from "./summary.tsx";

/** Lists the runs of a task, newest first. A click on a run shows its steps. */
export function Runs({ board_id, task_id }: { board_id: string; task_id: string }) {
  const { data, error, reload } = useResource(
    (signal) => readRuns(board_id, task_id, signal),
    [task_id],
    (change) => change.type === "run" && change.task_id === task_id,
    true,
  );
  if (!error && !data?.items.length) return null;
  return (
    <section>
      <h3>Runs</h3>
      <Problem error={error} retry={reload} />
      <ol class="run-list">
        {data?.items.map((run) => (
          <li key={run.id}>
            <p class="row-head">
              <RunStatus status={run.status} />
              <a href={toRun(board_id, task_id, run.id)} dir="auto">
                {toPlain(run.agent_name)}
              </a>
              <span class="muted">
                began <Time at={run.started_at} />
              </span>
              <RunFigures run={run} />
            </p>
            {run.ended_reason && (
              <p class="text muted" dir="auto">
                {toPlain(run.ended_reason)}
              </p>
            )}
            <RunLinks links={run.links} />
          </li>
        ))}
      </ol>
      {data && data.total > data.items.length && (
        <p class="muted">{data.total - data.items.length} earlier runs are not shown.</p>
      )}
    </section>
  );
}
