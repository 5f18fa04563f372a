import type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { cutText, type Step, type ToolCallStep, type UsageEntry } from "./step.ts";

/** Text that arrives in pieces is collected for GATHER_MS or up to GATHER_CHARS, and then becomes one step. */
const GATHER_MS = 800;
const GATHER_CHARS = 8_000;
/** The maximum length of the agent's last message, which becomes the comment, in characters. */
const MAX_MESSAGE = 8_000;
const MAX_LOCATIONS = 20;
const MAX_ENTRIES = 100;

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
    if (gathered) keep({ ...gathered, text: cutText(gathered.text) });
    gathered = null;
  }
  function put(step: Step): void {
    flush();
    keep(step);
  }
  function gather(kind: "message" | "thought", text: string): void {
    if (text === "") return;
    if (gathered && gathered.kind !== kind) flush();
    gathered ??= { kind, at: stamp(), text: "" };
    gathered.text += text.slice(0, GATHER_CHARS * 2);
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
          return put({ at: stamp(), kind: "plan", entries: update.entries.slice(0, MAX_ENTRIES).map(toEntry) });
        case "usage_update":
          // The cost of a session can only grow. Costs in other currencies are not converted.
          if (update.cost?.currency === "USD") cost = toPrice(update.cost.amount) ?? cost;
          return;
        default:
          return;
      }
    },
    log(stream, text) {
      put({ at: stamp(), kind: "log", stream, text: cutText(text) });
    },
    permission(step) {
      put({ at: stamp(), kind: "permission", ...step, title: cutText(step.title, 400) });
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

/** Removes what databases cannot store: the NUL character and half of a surrogate pair. */
function toStorable<T>(value: T): T {
  if (typeof value === "string") return value.replaceAll("\u0000", "").toWellFormed() as T;
  if (Array.isArray(value)) return value.map(toStorable) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toStorable(item as unknown)])) as T;
}

const oneOf = <T extends string>(allowed: readonly T[], value: string, otherwise: T): T =>
  allowed.find((name) => name === value) ?? otherwise;

const toEntry = ({ content, priority, status }: { content: string; priority: string; status: string }) => ({
  content: cutText(content, 2_000),
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
    ...(title ? { title: cutText(title, 400) } : {}),
    ...(kind ? { tool_kind: oneOf(TOOL_KINDS, kind, "other") } : {}),
    ...(status ? { status: oneOf(["pending", "in_progress", "completed", "failed"], status, "in_progress") } : {}),
    ...(locations?.length ? { locations: locations.slice(0, MAX_LOCATIONS).map(toLocation) } : {}),
    ...(isEmpty(rawInput) ? {} : { input: toText(rawInput) }),
    ...(output === "" && isEmpty(rawOutput) ? {} : { output: output === "" ? toText(rawOutput) : cutText(output) }),
    ...(diff ? { diff: { path: diff.path, old: cutText(diff.oldText ?? ""), new: cutText(diff.newText) } } : {}),
  };
}

const toLocation = ({ path, line }: { path: string; line?: number | null }) => ({
  path: cutText(path, 1_000),
  ...(typeof line === "number" && Number.isSafeInteger(line) && line >= 0 && line < 1e9 ? { line } : {}),
});

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);

const textOfParts = (content: readonly ToolCallContent[]): string =>
  content
    .map((part) => (part.type === "content" ? textOf(part.content) : ""))
    .filter(Boolean)
    .join("\n");

const toText = (value: unknown): string => cutText(typeof value === "string" ? value : JSON.stringify(value));
