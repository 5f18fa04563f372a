import { memo } from "preact/compat";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Run, Step } from "../types.ts";
import { toDollars, toDuration, toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";
import { toMoment } from "../ui/time.tsx";
import type { StepFeed } from "./feed.ts";
import { Fold, Status, Text, toLine } from "./fold.tsx";
import { Call } from "./tool-call.tsx";

const MAX_ENTRIES = 50;
const MAX_PREVIEW = 80;

interface Props {
  step: Step;
  run: Run;
  feed: StepFeed;
  observer: ResizeObserver;
}

export const StepRow = memo(function StepRow({ step, run, feed, observer }: Props) {
  const element = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    observer.observe(current!);
    return () => observer.unobserve(current!);
  }, [observer, step.n]);
  return (
    <li ref={element} class={`run-step ${step.kind}`} data-n={step.n} aria-posinset={step.n + 1} aria-setsize={run.steps}>
      <time class="run-step-at" dateTime={step.at} title={toMoment(step.at)}>
        +{toDuration(Date.parse(step.at) - Date.parse(run.started_at))}
      </time>
      <div class="run-step-body">
        <Content step={step} feed={feed} />
        {step.truncated && <p class="muted">The agent sent more, which was cut.</p>}
      </div>
    </li>
  );
});

function Content({ step, feed }: Pick<Props, "step" | "feed">) {
  switch (step.kind) {
    case "message":
      return <Text part={`${step.n} text`} text={step.text} feed={feed} />;
    case "thought":
      return (
        <Fold
          part={`${step.n}`}
          feed={feed}
          summary={<span class="muted">Thought: {toLine(step.text.slice(0, MAX_PREVIEW))}</span>}
        >
          <Text part={`${step.n} text`} text={step.text} feed={feed} />
        </Fold>
      );
    case "tool_call":
      return <Call call={step} feed={feed} />;
    case "plan":
      return (
        <ul class="run-plan" aria-label="Plan">
          {step.entries.slice(0, MAX_ENTRIES).map((entry, index) => (
            <li key={index}>
              <Status of={entry.status} /> <span dir="auto">{toLine(entry.content)}</span>
              {entry.priority === "high" && (
                <>
                  {" "}
                  <span class="badge warning">high</span>
                </>
              )}
            </li>
          ))}
          {step.entries.length > MAX_ENTRIES && <li class="muted">and {step.entries.length - MAX_ENTRIES} more</li>}
        </ul>
      );
    case "permission":
      return (
        <p>
          <span class="muted">Asked for permission: </span>
          <span dir="auto">{toLine(step.title)}</span> <Status of={step.outcome} />
        </p>
      );
    case "usage":
      return (
        <p class="muted">
          {step.model && <span dir="auto">{toPlain(step.model)}: </span>}
          {toWhole(step.input_tokens ?? 0)} tokens in, {toWhole(step.output_tokens ?? 0)} out
          {step.cost_usd && `, ${toDollars(step.cost_usd)}`}
        </p>
      );
    case "log":
      return (
        <>
          <span class={step.stream === "stderr" ? "badge danger" : "badge"}>{toLine(step.stream)}</span>
          <Text part={`${step.n} text`} text={step.text} feed={feed} isCode />
        </>
      );
  }
}
