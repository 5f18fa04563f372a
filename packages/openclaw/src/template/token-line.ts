import { trimEndOf, trimStartOf } from "@board/core/values/text";

/** The keys of the `KEY=value` lines of TOOLS.md, in their order. */
export const TOOLS_KEYS = [
  "BASE_URL",
  "AUTH_TOKEN",
  "AGENT_ID",
  "AGENT_NAME",
  "BOARD_ID",
  "WORKSPACE_ROOT",
  "WORKSPACE_PATH",
] as const;
export type ToolsKey = (typeof TOOLS_KEYS)[number];

/** Every sequence that some parser treats as the end of a line. */
export const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
const LINE_BREAK_PARTS = new RegExp(`(${LINE_BREAK.source})`);

/**
 * Returns the AUTH_TOKEN of a file, or null. If several lines have a token, the last one counts. Bullets and back-ticks around
 * the token are ignored (docs/reference/gateways.md#key-lines).
 */
export function parseToken(text: string): string | null {
  const last = text
    .split(LINE_BREAK)
    .map(parseKeyLine)
    .findLast((line) => line?.key === "AUTH_TOKEN");
  return last?.value || null;
}

function parseKeyLine(line: string): { key: string; value: string } | null {
  const bare = trimEndOf(trimStartOf(line.trim().replace(/^[-*\s]+/, ""), "`"), "`");
  const match = /^([A-Z0-9_]+)=(.*)$/s.exec(bare);
  return match ? { key: match[1]!, value: match[2]!.trim() } : null;
}

/**
 * Quotes the lines that look like a key line of TOOLS.md or like the start of an embedded file. Some hosts store all files in one,
 * where the last token line wins, so a soul or an identity must not contain a token line.
 */
export const quoteKeyLines = (text: string): string =>
  text
    .split(LINE_BREAK_PARTS)
    .map((part, index) => (index % 2 === 0 && isForgedLine(part) ? `> ${part}` : part))
    .join("");

const isForgedLine = (line: string): boolean =>
  (TOOLS_KEYS as readonly string[]).includes(parseKeyLine(line)?.key ?? "") || /^\s*<!--\s*file:/i.test(line);
