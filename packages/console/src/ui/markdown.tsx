import { lazy } from "./lazy.tsx";

/** Text with Markdown. The script that renders it is loaded with the first text, which is shown plain until then. */
export const Markdown = lazy<{ text: string }>("the text", async () => (await import("./markdown-text.tsx")).MarkdownText);
