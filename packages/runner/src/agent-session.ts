import {
  client,
  methods,
  PROTOCOL_VERSION,
  type McpServer,
  type RequestPermissionOutcome,
  type RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import type { AgentCommand } from "./agent-command.ts";
import { openAgentStream } from "./agent-stream.ts";
import { readLines } from "./lines.ts";
import { type ProcessGroup, startProcessGroup } from "./process-group.ts";
import { identifyProcess, type ProcessIdentity } from "./process-identity.ts";
import type { StepMapper } from "./session-update.ts";
import { cutText, type UsageEntry } from "./step.ts";

export interface AgentSessionOptions {
  command: AgentCommand;
  cwd: string;
  env: Record<string, string>;
  /** The board's tools, for agents that speak MCP over HTTP. */
  board: { url: string; token: string } | null;
  steps: StepMapper;
  onStarted: (leader: ProcessIdentity) => void;
  /** Called whenever the agent writes anything, which shows that it is alive. */
  onSign: () => void;
  onAgent: (info: { name: string; version: string | null }) => void;
  askPermission: (request: RequestPermissionRequest, signal: AbortSignal) => Promise<RequestPermissionOutcome>;
  /** Aborted when the agent should cancel its work. */
  signal: AbortSignal;
  /** Aborted when the agent must be killed at once. */
  killing: AbortSignal;
}

/** How the work of an agent on a prompt ended. */
export type SessionResult =
  | { outcome: "finished"; stop_reason: string; usage: UsageEntry | null }
  | { outcome: "failed"; reason: string };

/** How much time an agent gets to exit after it has finished, or after it was asked to cancel. */
const GRACE_MS = 4_000;
const MAX_LOG_LINE = 4_000;
/** The reason becomes a comment, and the service refuses long comments. */
const MAX_REASON_BYTES = 4_000;
/**
 * The maximum number of stored lines that do not belong to the protocol. The first lines help to find an error. Endless output
 * would only fill the run.
 */
const MAX_LOG_LINES = 500;

/**
 * Starts an agent, gives it a prompt and waits for its answer. When this returns, the agent and all processes that it started have
 * ended.
 */
export async function runAgent(options: AgentSessionOptions, prompt: string): Promise<SessionResult> {
  const { command, cwd, env, onStarted } = options;
  const group = startProcessGroup(command.file, command.args, { cwd, env });
  const kill = () => void group.end(0);
  options.killing.addEventListener("abort", kill, { once: true });
  const log = limitLog(options.steps);
  const reading = copyLines(group, log, options.onSign);
  try {
    if (group.child.pid !== undefined) onStarted(identifyProcess(group.child.pid));
    const running = command.protocol === "acp" ? speak(group, options, prompt, log) : execute(group, options, prompt, log);
    return await Promise.race([running, failedStart(group, command)]);
  } finally {
    await group.end(options.killing.aborted ? 0 : GRACE_MS);
    options.killing.removeEventListener("abort", kill);
    await reading;
    options.steps.flush();
  }
}

const failedStart = async ({ exited }: ProcessGroup, { file }: AgentCommand): Promise<SessionResult> => {
  const { error } = await exited;
  return error ? { outcome: "failed", reason: `${file} could not be started: ${error.message}` } : new Promise(() => {});
};

function limitLog(steps: StepMapper): (stream: string, text: string) => void {
  let lines = 0;
  return (stream, text) => {
    if (++lines < MAX_LOG_LINES) steps.log(stream, text.slice(0, MAX_LOG_LINE));
    else if (lines === MAX_LOG_LINES) steps.log("runner", "Further lines of the agent's output are not kept.");
  };
}

async function copyLines(
  { child }: ProcessGroup,
  log: (stream: string, text: string) => void,
  onSign: () => void,
): Promise<void> {
  try {
    for await (const { text } of readLines(child.stderr, MAX_LOG_LINE, onSign)) {
      if (text.trim() !== "") log("stderr", text);
    }
  } catch {
    // The output was closed when the group ended.
  }
}

async function speak(
  group: ProcessGroup,
  options: AgentSessionOptions,
  prompt: string,
  log: (stream: string, text: string) => void,
): Promise<SessionResult> {
  const { steps, onSign, onAgent, askPermission, board, cwd, signal } = options;
  let tooLong = false;
  const stream = openAgentStream(group.child, {
    onText: (text) => log("stdout", text),
    onMessage: onSign,
    onTooLong: () => {
      tooLong = true;
      void group.end(0);
    },
  });
  const app = client({ name: "board" })
    .onNotification(methods.client.session.update, ({ params }) => steps.update(params.update))
    .onRequest(methods.client.session.requestPermission, async (context) => ({
      outcome: await askPermission(context.params, context.signal),
    }));
  const connection = app.connect(stream);
  const { agent } = connection;
  const closed = connection.closed.then(async (): Promise<SessionResult> => {
    const { code, signal: by } = await group.exited;
    if (tooLong) return { outcome: "failed", reason: "The agent sent a message that is longer than 16 MB." };
    return { outcome: "failed", reason: `The agent ended before it had finished (${by ?? `exit code ${code}`}).` };
  });
  const talk = async (): Promise<SessionResult> => {
    const started = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "board-runner", title: "Board runner", version: "1" },
    });
    if (started.protocolVersion !== PROTOCOL_VERSION)
      return {
        outcome: "failed",
        reason: `The agent speaks version ${started.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}.`,
      };
    const { agentInfo, agentCapabilities } = started;
    onAgent({ name: agentInfo?.name ?? options.command.tool, version: agentInfo?.version ?? null });
    const mcpServers = board && agentCapabilities?.mcpCapabilities?.http ? [toMcpServer(board)] : [];
    const { sessionId, modes } = await agent.request(methods.agent.session.new, { cwd, mcpServers });
    // Some agents start in a mode in which they do not ask for permission, so the policy could not decide anything.
    const { mode } = options.command;
    if (mode !== null && modes?.currentModeId !== mode && modes?.availableModes.some(({ id }) => id === mode))
      await agent.request(methods.agent.session.setMode, { sessionId, modeId: mode });
    const cancel = () => void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
    if (signal.aborted) return { outcome: "failed", reason: "The run was cancelled." };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: prompt }] });
      return { outcome: "finished", stop_reason: answer.stopReason, usage: toUsage(answer) };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
  const answered = talk().catch((error: unknown): SessionResult => ({ outcome: "failed", reason: toReason(error) }));
  const result = await Promise.race([answered, closed, afterCancel(signal)]);
  // When the connection closes, the open request is rejected too, but the exit code of the process says more about the cause.
  const exact = result.outcome === "failed" && connection.signal.aborted ? await closed : result;
  connection.close();
  return exact;
}

/** Resolves some time after the signal, so that an agent that ignores the request to cancel is ended. */
const afterCancel = (signal: AbortSignal): Promise<SessionResult> =>
  new Promise((resolve) => {
    const end = () => setTimeout(() => resolve({ outcome: "failed", reason: "The run was cancelled." }), GRACE_MS);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

const toMcpServer = ({ url, token }: { url: string; token: string }): McpServer => ({
  type: "http",
  name: "board",
  url: `${url}/mcp`,
  headers: [{ name: "X-Agent-Token", value: token }],
});

const TOKEN_FIELDS = {
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  cachedReadTokens: "cached_input_tokens",
  thoughtTokens: "reasoning_tokens",
} as const;

/** Reads the token usage from the answer to a prompt. This field of the protocol is not stable yet. */
function toUsage(answer: object): UsageEntry | null {
  const usage = (answer as { usage?: Record<string, unknown> | null }).usage;
  if (!usage) return null;
  const counts = Object.entries(TOKEN_FIELDS).flatMap(([from, to]) => {
    const count = usage[from];
    return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? [[to, count]] : [];
  });
  return counts.length > 0 ? (Object.fromEntries(counts) as UsageEntry) : null;
}

/**
 * Runs a command that speaks no protocol: the prompt is its standard input, its lines become steps, and its exit code is the
 * result.
 */
async function execute(
  group: ProcessGroup,
  { steps, onSign, onAgent, signal, command }: AgentSessionOptions,
  prompt: string,
  log: (stream: string, text: string) => void,
): Promise<SessionResult> {
  onAgent({ name: command.tool, version: null });
  group.child.stdin.end(prompt);
  const copying = (async () => {
    for await (const { text } of readLines(group.child.stdout, MAX_LOG_LINE, onSign)) {
      if (text.trim() === "") continue;
      log("stdout", text);
      steps.keep(text);
    }
  })().catch(() => {});
  const exited = group.exited.then(async ({ code, signal: by }): Promise<SessionResult> => {
    await copying;
    if (code === 0) return { outcome: "finished", stop_reason: "end_turn", usage: null };
    return { outcome: "failed", reason: `The command ended with ${by ?? `exit code ${code}`}.` };
  });
  const cancelled = afterCancel(signal);
  signal.addEventListener("abort", () => void group.end(GRACE_MS), { once: true });
  return Promise.race([exited, cancelled]);
}

function toReason(error: unknown): string {
  const { message, code, data } = error as { message?: string; code?: number; data?: { details?: unknown } | undefined };
  const details = typeof data?.details === "string" ? ` ${data.details}` : "";
  const text = cutText(`${message ?? String(error)}${details}`, MAX_REASON_BYTES);
  // With error -32000, an agent reports that nobody has signed in to it.
  if (code === -32_000) return `The agent asks for a sign-in. Start the tool once by hand and sign in. (${text})`;
  return `The agent reported an error: ${text}`;
}
