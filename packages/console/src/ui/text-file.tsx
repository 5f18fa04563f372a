import { useState } from "preact/hooks";
import { toWhole } from "./figures.ts";
import { Markdown, RawToggle } from "./markdown.tsx";
import { toPlain } from "./plain.ts";
import "../styles/text-file.css";

const MAX_TEXT = 500_000;

interface Props {
  /** The name of the text for screen readers. */
  label: string;
  text: string;
}

export function PlainFile({ label, text }: Props) {
  return (
    <>
      {text.length > MAX_TEXT && <p class="muted">Only the first {toWhole(MAX_TEXT)} characters are shown.</p>}
      <pre class="file-text" tabIndex={0} aria-label={label}>
        {toPlain(text.slice(0, MAX_TEXT))}
      </pre>
    </>
  );
}

/** Shows a text with Markdown, rendered or as it was written. */
export function MarkdownFile({ label, text }: Props) {
  const [isRaw, setRaw] = useState(false);
  return (
    <>
      <RawToggle isRaw={isRaw} onChange={setRaw} />
      {isRaw ? <PlainFile label={label} text={text} /> : <Markdown text={text} />}
    </>
  );
}
