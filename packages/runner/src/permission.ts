import type {
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { setTimeout as pause } from "node:timers/promises";
import type { BoardService, PermissionAnswer, TaskHandle } from "./board-service.ts";
import { decideByPolicy, type Policy, SHELL_SIGNS, type ToolRequest } from "./policy.ts";
import { isRefusal, untilAnswered } from "./retry.ts";
import type { StepMapper } from "./session-update.ts";
import { cutText } from "./step.ts";
import { toToolRequest } from "./tool-paths.ts";

export interface PermissionOptions {
  service: BoardService;
  handle: TaskHandle;
  run_id: string | null;
  policy: Policy | null;
  folder: string;
  steps: StepMapper;
  /** How much time people get to answer, in milliseconds. Without an answer, the permission is denied. */
  timeout_ms: number;
  print: (text: string) => void;
  /** Called when the agent begins or stops waiting for a person, because its silence then does not count as a stall. */
  onWaiting: (isWaiting: boolean) => void;
}

export interface PermissionDesk {
  /**
   * Stores what is known about a tool call, because a later request for permission may leave out what an earlier report
   * contained.
   */
  noteToolCall(call: ToolCallUpdate): void;
  decide(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionOutcome>;
}

/** The option by which a person also allows further requests of the same kind in this run. */
const ALWAYS = "board:always_in_task";
const MAX_EXCERPT = 4_000;
const MAX_OPTIONS = 10;
const MAX_KNOWN_CALLS = 1_000;

export function openPermissionDesk(options: PermissionOptions): PermissionDesk {
  const known = new Map<string, ToolCallUpdate>();
  const always = new Set<string>();
  let waiting = 0;

  async function ask(
    asked: ToolRequest,
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionOutcome> {
    const { steps, print, onWaiting, timeout_ms } = options;
    const note = (approval_id: string | null, outcome: string) => steps.permission({ approval_id, title: asked.title, outcome });
    onWaiting(++waiting > 0);
    let approval_id: string | null = null;
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]);
      approval_id = await requestApproval(asked, request, limit);
      note(approval_id, "asked");
      print(`waits for a permission: ${asked.title}`);
      const answer = await waitForAnswer(approval_id, limit);
      const outcome = toOutcome(answer, request.options);
      if (answer.option === ALWAYS && answer.status === "approved") always.add(kindOf(asked));
      note(approval_id, answer.status);
      print(`permission ${answer.status}: ${asked.title}`);
      return outcome;
    } catch (error) {
      if (signal.aborted) return { outcome: "cancelled" };
      const reason = isRefusal(error) ? `could not be asked for: ${error.message}` : "had no answer in time";
      note(approval_id, "denied");
      print(`permission denied, because it ${reason}: ${asked.title}`);
      const text = `A permission ${reason}, so it was denied: ${cutText(asked.title, 400)}`;
      await options.service.addComment(options.handle, text, crypto.randomUUID(), true).catch(() => {});
      return select(request.options, ["reject_once", "reject_always"]);
    } finally {
      onWaiting(--waiting > 0);
    }
  }

  function requestApproval(asked: ToolRequest, { toolCall, options: choices }: RequestPermissionRequest, signal: AbortSignal) {
    const { service, handle, run_id } = options;
    const given = choices
      .slice(0, MAX_OPTIONS)
      .map(({ optionId, name, kind }) => ({ id: optionId, name: cutText(name, 200), kind }));
    const own = given.some(({ kind }) => kind === "allow_once")
      ? [{ id: ALWAYS, name: "Always in this task", kind: "allow_always" }]
      : [];
    const permission = {
      run_id,
      title: cutText(asked.title, 400),
      tool: asked.tool_kind,
      excerpt: toExcerpt(asked, known.get(toolCall.toolCallId), toolCall),
      options: [...given, ...own],
    };
    const key = crypto.randomUUID();
    return untilAnswered(() => service.askPermission(handle, permission, key), signal);
  }

  /** Follows the stream of the board's approvals, which shows a decision within two seconds and needs one connection. */
  async function waitForAnswer(approval_id: string, signal: AbortSignal): Promise<PermissionAnswer> {
    const { service, handle } = options;
    const { board_id } = handle;
    const read = () => untilAnswered(() => service.readPermission(board_id, approval_id), signal);
    for (;;) {
      const since = new Date(Date.now() - 60_000).toISOString();
      const events = service.client.stream("/api/v1/boards/{board_id}/approvals/stream", {
        params: { path: { board_id }, query: { since } },
        signal,
      });
      const answer = await read();
      if (answer.status !== "pending") return answer;
      try {
        for await (const { data } of events) {
          if (data.approval.id !== approval_id || data.approval.status === "pending") continue;
          return await read();
        }
      } catch (error) {
        signal.throwIfAborted();
        if (isRefusal(error)) throw error;
      }
      await pause(POLL_MS, undefined, { signal });
    }
  }

  return {
    noteToolCall(call) {
      if (known.size >= MAX_KNOWN_CALLS) known.clear();
      const before = known.get(call.toolCallId);
      const told = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined && value !== null));
      known.set(call.toolCallId, { ...before, ...(told as ToolCallUpdate) });
    },
    async decide(request, signal) {
      const asked = toToolRequest(request, known.get(request.toolCall.toolCallId));
      const decision = decideByPolicy(options.policy, asked, options.folder);
      if (decision === "allow" || (decision === "ask" && always.has(kindOf(asked))))
        return select(request.options, ["allow_once", "allow_always"]);
      if (decision === "ask") return ask(asked, request, signal);
      options.steps.permission({ approval_id: null, title: asked.title, outcome: "denied" });
      return select(request.options, ["reject_once", "reject_always"]);
    },
  };
}

const POLL_MS = 5_000;

/**
 * Returns what the answer "always" covers: requests for the same kind of tool, and for a command only commands with the same first
 * word. A line in which a shell could run further commands is covered only as a whole.
 */
const kindOf = ({ tool_kind, command }: ToolRequest) => JSON.stringify([tool_kind, command && toCovered(command.trim())]);

const toCovered = (line: string) => (SHELL_SIGNS.test(line) ? line : line.split(/\s+/)[0]);

function toOutcome({ status, option }: PermissionAnswer, offered: readonly PermissionOption[]): RequestPermissionOutcome {
  const chosen = offered.find(({ optionId }) => optionId === option);
  if (chosen) return { outcome: "selected", optionId: chosen.optionId };
  return select(offered, status === "approved" ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"]);
}

/**
 * Selects the first of these kinds for which there is an option. Without such an option, the request is cancelled, which allows
 * nothing.
 */
function select(offered: readonly PermissionOption[], kinds: readonly PermissionOption["kind"][]): RequestPermissionOutcome {
  for (const kind of kinds) {
    const option = offered.find((candidate) => candidate.kind === kind);
    if (option) return { outcome: "selected", optionId: option.optionId };
  }
  return { outcome: "cancelled" };
}

/** Returns what a person needs to see in order to decide: the command, or the change, or else the input of the tool. */
function toExcerpt({ command, paths }: ToolRequest, known: ToolCallUpdate | undefined, call: ToolCallUpdate): string {
  if (command) return cutText(command, MAX_EXCERPT);
  const diff = (call.content ?? known?.content ?? []).find((part) => part.type === "diff");
  if (diff) return cutText(`${diff.path}\n${diff.newText}`, MAX_EXCERPT);
  const input = call.rawInput ?? known?.rawInput;
  const text = input === undefined || input === null ? "" : JSON.stringify(input, null, 1);
  return cutText([...paths, text].filter((part) => part !== "").join("\n"), MAX_EXCERPT);
}
