import type { ComponentChildren } from "preact";
import { toWhole } from "../ui/figures.ts";
import { toPlain } from "../ui/plain.ts";
import type { StepFeed } from "./feed.ts";

/** How much of a text the page shows until the person asks for the whole text. */
const MAX_CHARACTERS = 1_200;
const MAX_LINES = 12;
const MAX_LINE = 300;

/** Shortens a text so that it fits into a line. */
export const toLine = (text: string): string => toPlain(text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)} …` : text);

const GOOD = /^(completed|approved|allowed|allow\w*|done)$/;
const BAD = /^(failed|rejected|denied|reject\w*|cancelled)$/;

export function Status({ of: status }: { of: string | null | undefined }) {
  if (!status) return null;
  const look = GOOD.test(status) ? "success" : BAD.test(status) ? "danger" : status === "in_progress" ? "accent" : "";
  return <span class={`badge ${look}`}>{toLine(status.replaceAll("_", " "))}</span>;
}

interface FoldProps {
  part: string;
  feed: StepFeed;
  summary: ComponentChildren;
  children: ComponentChildren;
}

/** Shows a part that can be folded. A folded part is not in the page. An unfolded part stays so while its row is out of sight. */
export function Fold({ part, feed, summary, children }: FoldProps) {
  const isOpen = feed.open.value.has(part);
  return (
    <details open={isOpen} onToggle={(event) => event.currentTarget.open !== isOpen && feed.toggle(part, !isOpen)}>
      <summary>{summary}</summary>
      {isOpen && <div class="run-fold">{children}</div>}
    </details>
  );
}

function cut(text: string): string {
  let end = -1;
  for (let line = 0; line < MAX_LINES; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  return text.slice(0, Math.min(MAX_CHARACTERS, end < 0 ? text.length : end));
}

interface TextProps {
  part: string;
  text: string;
  feed: StepFeed;
  isCode?: boolean;
}

export function Text({ part, text, feed, isCode = false }: TextProps) {
  const isOpen = feed.open.value.has(part);
  const shown = isOpen ? text : cut(text);
  return (
    <>
      {isCode ? (
        <pre class="run-code">{toPlain(shown)}</pre>
      ) : (
        <p class="text" dir="auto">
          {toPlain(shown)}
        </p>
      )}
      {(isOpen || shown.length < text.length) && (
        <button type="button" class="small" aria-expanded={isOpen} onClick={() => feed.toggle(part, !isOpen)}>
          {isOpen ? "Show less" : `Show all ${toWhole(text.length)} characters`}
        </button>
      )}
    </>
  );
}
