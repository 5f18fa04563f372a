import { lazy } from "./lazy.tsx";

/** Shows a text with Markdown. The script that renders Markdown is loaded when the first text is shown. */
export const Markdown = lazy<{ text: string }>("the text", async () => (await import("./markdown-text.tsx")).MarkdownText);

/** Switches between rendered Markdown and the text as its author wrote it. */
export function RawToggle({ isRaw, onChange }: { isRaw: boolean; onChange: (isRaw: boolean) => void }) {
  return (
    <button type="button" class="small raw-toggle" aria-pressed={isRaw} onClick={() => onChange(!isRaw)}>
      As it was written
    </button>
  );
}
