import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { useResource } from "../resource.ts";
import { toTask } from "../route.ts";
import type { Run } from "../types.ts";
import { Loading, Problem } from "../ui/parts.tsx";
import { toPlain } from "../ui/plain.ts";
import { Time } from "../ui/time.tsx";
import { readRun, stopRun } from "./read.ts";
import { Steps } from "./steps.tsx";
import { RunFigures, RunLinks, RunStatus } from "./summary.tsx";
import "../styles/run.css";

/** Shows one run: who worked, for how long, at what cost, and step by step what happened. */
export function RunView({
  board_id,
  task_id,
  run_id,
  mayWrite,
}: {
  board_id: string;
  task_id: string;
  run_id: string;
  mayWrite: boolean;
}) {
  const {
    data: run,
    error,
    reload,
  } = useResource(
    (signal) => readRun(board_id, run_id, signal),
    [run_id],
    (change) => change.type === "run" && change.id === run_id,
    true,
  );
  return (
    <div class="run-view">
      <a href={toTask(board_id, task_id)}>← Back to the task</a>
      <Problem error={error} retry={reload} />
      {!run && !error && <Loading what="the run" />}
      {run && (
        <>
          <h2 dir="auto">Run of {toPlain(run.agent_name)}</h2>
          <div class="row-head">
            <RunStatus status={run.status} />
            <span class="muted">
              began <Time at={run.started_at} />
            </span>
            <RunFigures run={run} />
            {run.status === "running" && mayWrite && <Stop run={run} onStopped={reload} />}
          </div>
          {run.ended_reason && (
            <p class="text" dir="auto">
              {toPlain(run.ended_reason)}
            </p>
          )}
          <RunLinks links={run.links} />
          {run.steps_expired_at !== null ? (
            <p class="muted">
              The steps were removed <Time at={run.steps_expired_at} />, because they were old.
            </p>
          ) : (
            <Steps run={run} />
          )}
        </>
      )}
    </div>
  );
}

/** Stopping takes two clicks, because the agent loses the task. */
function Stop({ run, onStopped }: { run: Run; onStopped: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string | null>(null);
  const stop = async (event: Event) => {
    event.preventDefault();
    try {
      await stopRun(run, reason.trim() || null);
      onStopped();
    } catch (reason) {
      setError(messageOf(reason));
    }
  };
  if (!isAsking)
    return (
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Stop
      </button>
    );
  return (
    <form class="confirm" onSubmit={stop}>
      <p>The agent loses the task, which goes back to the inbox.</p>
      <input
        aria-label="Why"
        placeholder="Why? The agent reads it."
        dir="auto"
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <button type="submit" class="danger">
        Stop the run
      </button>{" "}
      <button type="button" onClick={() => setAsking(false)}>
        Let it go on
      </button>
      <Problem error={error} />
    </form>
  );
}
