/** The `KEY=value` lines of TOOLS.md, in their order. */
export const KEYS = ["BASE_URL", "AUTH_TOKEN", "AGENT_ID", "AGENT_NAME", "BOARD_ID", "WORKSPACE_ROOT", "WORKSPACE_PATH"] as const;
export type Key = (typeof KEYS)[number];

/** Everything that somebody may take for the end of a line. */
export const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;
const PARTS = new RegExp(`(${LINE_BREAK.source})`);

/** AUTH_TOKEN of a file, or null: the last such line wins, bullets and back-ticks around it do not count (contract gateways.md §12). */
export function readTokenLine(text: string): string | null {
  const last = text
    .split(LINE_BREAK)
    .map(readKeyLine)
    .findLast((line) => line?.key === "AUTH_TOKEN");
  return last?.value || null;
}

function readKeyLine(line: string): { key: string; value: string } | null {
  const bare = line
    .trim()
    .replace(/^[-*\s]+/, "")
    .replace(/^`+|`+$/g, "");
  const match = /^([A-Z0-9_]+)=(.*)$/s.exec(bare);
  return match ? { key: match[1]!, value: match[2]!.trim() } : null;
}

/**
 * A text in which no line can be taken for one of TOOLS.md, nor for the start of a file inside another. Hosts may have
 * all files in one, where the last token line wins, so a line of a soul or an identity must not be one: it becomes a quotation.
 */
export const withoutKeyLines = (text: string): string =>
  text
    .split(PARTS)
    .map((part, index) => (index % 2 === 0 && isForged(part) ? `> ${part}` : part))
    .join("");

const isForged = (line: string): boolean =>
  (KEYS as readonly string[]).includes(readKeyLine(line)?.key ?? "") || /^\s*<!--\s*file:/i.test(line);
