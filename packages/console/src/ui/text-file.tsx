import { useState } from "preact/hooks";
import { Markdown, RawToggle } from "./markdown.tsx";
import { toPlain } from "./plain.ts";
import "../styles/text-file.css";

const MAX_TEXT = 500_000;

interface Props {
  /** Names the text for people who hear the page. */
  label: string;
  text: string;
}

export function PlainFile({ label, text }: Props) {
  return (
    <>
      {text.length > MAX_TEXT && <p class="muted">The first {MAX_TEXT} characters.</p>}
      <pre class="file-text" tabIndex={0} aria-label={label}>
        {toPlain(text.slice(0, MAX_TEXT))}
      </pre>
    </>
  );
}

/** A text with Markdown, which can be shown as it was written too. */
export function MarkdownFile({ label, text }: Props) {
  const [isRaw, setRaw] = useState(false);
  return (
    <>
      <RawToggle isRaw={isRaw} onChange={setRaw} />
      {isRaw ? <PlainFile label={label} text={text} /> : <Markdown text={text} />}
    </>
  );
}
