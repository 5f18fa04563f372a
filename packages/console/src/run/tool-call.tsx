import { useMemo } from "preact/hooks";
import type { ToolCall } from "../types.ts";
import { toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";
import { diffLines } from "./diff.ts";
import type { StepFeed } from "./feed.ts";
import { Fold, Status, Text, toLine } from "./fold.tsx";

const MAX_PLACES = 50;
const MAX_DIFF_LINES = 200;

const toText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** Shows a call of a tool in one line. Its details are folded. */
export function Call({ call, feed }: { call: ToolCall; feed: StepFeed }) {
  const { n, title, tool_kind, status, locations, input, output, diff } = call;
  const summary = (
    <>
      <span class="badge">{toPlain(tool_kind ?? "tool")}</span> <span dir="auto">{toLine(title || call.tool_call_id)}</span>{" "}
      <Status of={status} />
    </>
  );
  return (
    <Fold part={`${n}`} feed={feed} summary={summary}>
      {locations && locations.length > 0 && (
        <ul class="run-places">
          {locations.slice(0, MAX_PLACES).map(({ path, line }, index) => (
            <li key={index}>
              <code>
                {toLine(path)}
                {line != null && `:${line}`}
              </code>
            </li>
          ))}
        </ul>
      )}
      {input != null && (
        <>
          <p class="run-label">Input</p>
          <Text part={`${n} input`} text={toText(input)} feed={feed} isCode />
        </>
      )}
      {diff && <Diff part={`${n} diff`} diff={diff} feed={feed} />}
      {output != null && (
        <>
          <p class="run-label">Output</p>
          <Text part={`${n} output`} text={toText(output)} feed={feed} isCode />
        </>
      )}
      {input == null && output == null && !diff && <p class="muted">The agent reported nothing more.</p>}
    </Fold>
  );
}

const CLASSES = { "+": "run-added", "-": "run-removed", " ": "" } as const;

/** Shows the lines that a tool call has changed. A plus or minus repeats what the colour means, for people who cannot see it. */
function Diff({ part, diff, feed }: { part: string; diff: NonNullable<ToolCall["diff"]>; feed: StepFeed }) {
  const lines = useMemo(() => diffLines(diff.old, diff.new), [diff]);
  const isOpen = feed.open.value.has(part);
  const shown = isOpen ? lines : lines.slice(0, MAX_DIFF_LINES);
  const count = (sign: "+" | "-") => lines.filter((line) => line.sign === sign).length;
  return (
    <figure class="run-diff">
      <figcaption>
        <code>{toLine(diff.path)}</code>{" "}
        <span class="muted">
          {count("+")} added, {count("-")} removed
        </span>
      </figcaption>
      <pre tabIndex={0} aria-label="Changed lines">
        {shown.map(({ sign, text }, index) => (
          <span key={index} class={CLASSES[sign]}>
            {`${sign} ${toPlain(text)}\n`}
          </span>
        ))}
      </pre>
      {(isOpen || shown.length < lines.length) && (
        <button type="button" class="small" aria-expanded={isOpen} onClick={() => feed.toggle(part, !isOpen)}>
          {isOpen ? "Show less" : `Show all ${toWhole(lines.length)} lines`}
        </button>
      )}
    </figure>
  );
}
