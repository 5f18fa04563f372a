/** What happened inside a run. The service stores it as it is sent. */
export type Step = { at: string } & (
  | { kind: "message" | "thought"; text: string }
  | ToolCallStep
  | {
      kind: "plan";
      entries: { content: string; priority: "high" | "medium" | "low"; status: "pending" | "in_progress" | "completed" }[];
    }
  | { kind: "permission"; approval_id: string | null; title: string; outcome: string }
  | ({ kind: "usage" } & UsageEntry)
  | { kind: "log"; stream: string; text: string }
);

export interface ToolCallStep {
  kind: "tool_call";
  tool_call_id: string;
  title?: string;
  tool_kind?: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";
  status?: "pending" | "in_progress" | "completed" | "failed";
  locations?: { path: string; line?: number }[];
  input?: string;
  output?: string;
  diff?: { path: string; old: string; new: string };
}

export interface UsageEntry {
  /** A usage entry that is reported again under the same key counts once. */
  key?: string;
  model?: string;
  input_tokens?: number;
  output_tokens?: number;
  cached_input_tokens?: number;
  reasoning_tokens?: number;
  cost_usd?: string;
}

/** Shortens a text for a place with a limit in bytes, without splitting a character. It then ends with an ellipsis. */
export function cutText(text: string, max: number): string {
  if (text.length <= max / 4 || Buffer.byteLength(text) <= max) return text;
  const bytes = Buffer.from(text.slice(0, max));
  let end = Math.min(bytes.length, max - 3);
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString("utf8")}…`;
}

/**
 * The service cuts longer texts at 16 KB and longer lists at 200 items, and marks the step. So the runner keeps just enough for the
 * service to see that there was more.
 */
const MAX_TEXT_CHARS = 16_384 + 1;
const MAX_ITEMS = 200 + 1;

/** Removes from a step what cannot be stored: NUL, halves of surrogate pairs, and all that exceeds the limits. */
export function toStorable<T>(value: T): T {
  if (typeof value === "string") return value.replaceAll("\u0000", "").slice(0, MAX_TEXT_CHARS).toWellFormed() as T;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(toStorable) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toStorable(item as unknown)])) as T;
}
