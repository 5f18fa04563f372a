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

/** The longest text of a step. The service shortens texts to the same length. */
const MAX_TEXT = 16_384;

/** Shortens a text to the bytes that a step may have, without splitting a character. */
export function cutText(text: string, max = MAX_TEXT): string {
  if (text.length <= max / 4 || Buffer.byteLength(text) <= max) return text;
  const bytes = Buffer.from(text.slice(0, max));
  let end = Math.min(bytes.length, max - 3);
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return `${bytes.subarray(0, end).toString("utf8")}…`;
}
