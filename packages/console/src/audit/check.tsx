import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { toWhole } from "../ui/figures.ts";
import { Problem } from "../ui/parts.tsx";
import { toMoment } from "../ui/time.tsx";
import { Progress } from "../ui/work.tsx";
import { readExport } from "./read.ts";
import { type Verified, verify } from "./verify.ts";

/** Checks the chain of hashes in the browser, and says what it found. */
export function Check({ onDone }: { onDone: () => void }) {
  const [count, setCount] = useState<number | null>(null);
  const [result, setResult] = useState<Verified | null>(null);
  const [error, setError] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async () => {
    const { signal } = (stop.current = new AbortController());
    setCount(0);
    setResult(null);
    setError(null);
    try {
      setResult(await verify(readExport(signal), setCount));
    } catch (reason) {
      if (!signal.aborted) setError(messageOf(reason));
    }
    setCount(null);
    onDone();
  };
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h3>Is the log whole?</h3>
        <button type="button" disabled={count !== null} onClick={run}>
          Verify
        </button>
      </div>
      <p class="muted">
        Each entry has a hash over itself and the entry before. Your browser computes them all, so a changed or removed entry
        shows.
      </p>
      {count !== null && <Progress label={`${toWhole(count)} entries checked`} />}
      <Problem error={error} />
      {result && <Result result={result} />}
    </section>
  );
}

function Result({ result: { count, first, last, problem } }: { result: Verified }) {
  if (problem !== null)
    return (
      <p class="danger-text" role="alert">
        {problem} The {toWhole(count)} entries before it are whole.
      </p>
    );
  if (!first || !last) return <p role="status">The log is empty.</p>;
  return (
    <div role="status">
      <p>
        <span class="badge success">whole</span> {count === 1 ? "1 entry" : `${toWhole(count)} entries`}, from{" "}
        {toMoment(first.at)} to {toMoment(last.at)}.{" "}
        {first.seq > 1 && `The ${toWhole(first.seq - 1)} before them were removed after their retention time.`}
      </p>
      <p class="muted text">
        Newest hash (entry {last.seq}): <code>{last.hash}</code>
      </p>
    </div>
  );
}
