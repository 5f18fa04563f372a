import type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { type Step, type ToolCallStep, toStorable, type UsageEntry } from "./step.ts";

/**
 * Text that arrives in pieces is collected for GATHER_MS or up to GATHER_CHARS, and then becomes one step. A character has at most
 * three bytes, so that the step stays below the 16 KB of a text.
 */
const GATHER_MS = 800;
const GATHER_CHARS = 5_000;
/** The maximum length of the agent's last message, which becomes the comment, in characters. */
const MAX_MESSAGE = 8_000;

export interface StepMapper {
  update(update: SessionUpdate): void;
  log(stream: string, text: string): void;
  permission(step: { approval_id: string | null; title: string; outcome: string }): void;
  usage(entry: UsageEntry): void;
  /** Keeps a line of a command that speaks no protocol, because its last lines become the comment. */
  keep(line: string): void;
  /** Makes a step of the text that was collected so far. */
  flush(): void;
  /** What the agent said after its last tool call. */
  lastMessage(): string;
  /** The cost of the session so far, as the agent reports it. */
  cost(): string | null;
}

/** Converts an agent's reports into steps, which are passed to `add` in order. */
export function createStepMapper(add: (step: Step) => void, now = () => new Date()): StepMapper {
  let gathered: { kind: "message" | "thought"; at: string; text: string } | null = null;
  let timer: NodeJS.Timeout | undefined;
  let message = "";
  let isNewMessage = true;
  let cost: string | null = null;

  const keep = (step: Step) => add(toStorable(step));
  const stamp = () => now().toISOString();
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (gathered) keep(gathered);
    gathered = null;
  }
  function put(step: Step): void {
    flush();
    keep(step);
  }
  function gather(kind: "message" | "thought", text: string): void {
    if (text === "") return;
    if (gathered && (gathered.kind !== kind || gathered.text.length + text.length > GATHER_CHARS)) flush();
    gathered ??= { kind, at: stamp(), text: "" };
    gathered.text += text;
    if (gathered.text.length >= GATHER_CHARS) return flush();
    timer ??= setTimeout(flush, GATHER_MS);
  }
  function say(text: string): void {
    if (isNewMessage) message = "";
    isNewMessage = false;
    if (message.length < MAX_MESSAGE) message += text.slice(0, MAX_MESSAGE - message.length);
    gather("message", text);
  }

  return {
    update(update) {
      switch (update.sessionUpdate) {
        case "agent_message_chunk":
          return say(textOf(update.content));
        case "agent_thought_chunk":
          return gather("thought", textOf(update.content));
        case "tool_call":
        case "tool_call_update":
          isNewMessage = true;
          return put({ at: stamp(), ...toToolCall(update) });
        case "plan":
          return put({ at: stamp(), kind: "plan", entries: update.entries.map(toEntry) });
        case "usage_update":
          // The cost of a session can only grow. Costs in other currencies are not converted.
          if (update.cost?.currency === "USD") cost = toPrice(update.cost.amount) ?? cost;
          return;
        default:
          return;
      }
    },
    log(stream, text) {
      put({ at: stamp(), kind: "log", stream, text });
    },
    permission(step) {
      put({ at: stamp(), kind: "permission", ...step });
    },
    usage(entry) {
      put({ at: stamp(), kind: "usage", ...entry });
    },
    keep(line) {
      message = `${message}\n${line}`.slice(-MAX_MESSAGE / 4);
    },
    flush,
    lastMessage: () => message.trim(),
    cost: () => cost,
  };
}

/** Formats a price with as many digits as the service stores. Returns null for a number that cannot be a price. */
const toPrice = (amount: number): string | null =>
  Number.isFinite(amount) && amount >= 0 && amount < 1_000_000 ? amount.toFixed(6) : null;

const oneOf = <T extends string>(allowed: readonly T[], value: string, otherwise: T): T =>
  allowed.find((name) => name === value) ?? otherwise;

const toEntry = ({ content, priority, status }: { content: string; priority: string; status: string }) => ({
  content,
  priority: oneOf(["high", "medium", "low"], priority, "medium"),
  status: oneOf(["pending", "in_progress", "completed"], status, "pending"),
});

const TOOL_KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] as const;

function textOf(content: ContentBlock): string {
  if (content.type === "text") return content.text;
  if (content.type === "resource_link") return content.uri;
  return `[${content.type}]`;
}

/**
 * Converts an update of a tool call to a step. Fields that the update leaves out are missing in the step too, and keep their
 * earlier value.
 */
function toToolCall(call: ToolCallUpdate): ToolCallStep {
  const { toolCallId, title, kind, status, locations, content, rawInput, rawOutput } = call;
  const diff = content?.find((part) => part.type === "diff");
  const output = content ? textOfParts(content) : "";
  return {
    kind: "tool_call",
    tool_call_id: toolCallId.slice(0, 200) || "unnamed",
    ...(title ? { title } : {}),
    ...(kind ? { tool_kind: oneOf(TOOL_KINDS, kind, "other") } : {}),
    ...(status ? { status: oneOf(["pending", "in_progress", "completed", "failed"], status, "in_progress") } : {}),
    ...(locations?.length ? { locations: locations.map(toLocation) } : {}),
    ...(isEmpty(rawInput) ? {} : { input: toText(rawInput) }),
    ...(output === "" && isEmpty(rawOutput) ? {} : { output: output === "" ? toText(rawOutput) : output }),
    ...(diff ? { diff: { path: diff.path, old: diff.oldText ?? "", new: diff.newText } } : {}),
  };
}

const toLocation = ({ path, line }: { path: string; line?: number | null }) => ({
  path,
  ...(typeof line === "number" && Number.isSafeInteger(line) && line >= 0 && line < 1e9 ? { line } : {}),
});

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

const textOfParts = (content: readonly ToolCallContent[]): string =>
  content
    .map((part) => (part.type === "content" ? textOf(part.content) : ""))
    .filter(Boolean)
    .join("\n");

const toText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
