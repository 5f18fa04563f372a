import { useEffect, useState } from "preact/hooks";
import { isStatus, messageOf } from "../api.ts";
import { visible } from "../live.ts";
import "../styles/parts.css";

/** How often the progress of long work is read. */
const ASK_MS = 1_500;

interface Work<Run> {
  run: Run | null;
  error: string | null;
  /** Begins to follow a run that was just started. */
  follow: (run_id: string) => void;
}

/**
 * Follows long work of the service, such as a sync. The person can close the page meanwhile: the browser stores the id of the run,
 * so that every tab shows the progress again later. The service has no list of such runs in which the page could find the id.
 */
export function useWork<Run extends { status: string }>(name: string, read: (run_id: string) => Promise<Run>): Work<Run> {
  const key = `board.work.${name}`;
  const [run_id, setRunId] = useState(() => localStorage.getItem(key));
  const [run, setRun] = useState<Run | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    if (run_id === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const ask = async () => {
      try {
        if (!visible.value) return;
        const next = await read(run_id);
        if (isOver) return;
        setRun(next);
        setError(null);
        if (next.status !== "running") isOver = true;
      } catch (reason) {
        // Runs are removed after a week.
        if (isStatus(reason, 404)) {
          isOver = true;
          localStorage.removeItem(key);
          setRunId(null);
        }
        if (!isOver) setError(messageOf(reason));
      } finally {
        if (!isOver) timer = setTimeout(ask, ASK_MS);
      }
    };
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [run_id]);
  const follow = (id: string) => {
    localStorage.setItem(key, id);
    setRun(null);
    setRunId(id);
  };
  return { run, error, follow };
}

/** Shows the progress of long work. Without a total, it only shows that the work continues. */
export function Progress({ label, done, total }: { label: string; done?: number; total?: number }) {
  return (
    <div class="progress" role="status">
      <span>{label}</span>
      <progress aria-label={label} {...(total && done !== undefined ? { value: done, max: total } : {})} />
    </div>
  );
}
