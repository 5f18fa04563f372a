import { workspaceOf } from "./agents.ts";
import { agentsOf } from "./config.ts";
import type { ChatMessage, Host, Method } from "./host.ts";
import { readScope, writeScope } from "./host.ts";
import { obey, readMessage } from "./directives.ts";
import { RpcError } from "./rpc-error.ts";
import { anyValue, flag, integer, shape, text } from "./validators.ts";
import { agentOfKey, ensureSession, toSessionKey } from "./sessions.ts";
import { deleteFinishedBootstrap } from "./workspace.ts";

const DEFAULT_HISTORY = 200;

interface SendParams {
  sessionKey: string;
  message: string;
  deliver?: boolean;
  idempotencyKey: string;
}

/** chat.send, history and abort. The option `reply` of the gateway provides the replies of agents. */
export const chatMethods: Record<string, Method> = {
  "chat.send": {
    params: () =>
      shape(
        { sessionKey: text(), message: text({ min: 0 }), idempotencyKey: text() },
        { deliver: flag, thinking: text({ min: 0 }), attachments: anyValue, timeoutMs: integer() },
      ),
    scope: writeScope,
    run(host, params: SendParams) {
      const runId = params.idempotencyKey;
      const key = toSessionKey(params.sessionKey);
      const agent = agentOfKey(key);
      if (params.message.trim() === "") throw new RpcError("message or attachment required");
      if (host.dialect.chat_requires_agent && !agentsOf(host.config.runtime(), host.dialect).some(({ id }) => id === agent)) {
        throw new RpcError(`Agent "${agent}" no longer exists in configuration`);
      }
      const run = host.runs.get(runId);
      if (run !== undefined) return { runId, status: run };
      const entry = agentsOf(host.config.runtime(), host.dialect).find(({ id }) => id === agent);
      if (entry) deleteFinishedBootstrap(host, workspaceOf(host, entry));
      host.runs.set(runId, "in_flight");
      const { message, deliver = false } = params;
      const { seen, obeyed } = readMessage(message, host.dialect);
      const accepted = { session_key: key, message, seen, deliver, idempotency_key: runId, at: Date.now() };
      host.messages.push(accepted);
      obey(host, key, obeyed);
      if (seen !== null) appendMessage(host, key, "user", seen);
      host.broadcast("agent", { runId, sessionKey: key, stream: "lifecycle", data: { phase: "start" } });
      startRun(host, accepted);
      return { runId, status: "started" };
    },
  },
  "chat.history": {
    params: () => shape({ sessionKey: text() }, { limit: integer({ min: 1, max: 1000 }) }),
    scope: readScope,
    run(host, params: { sessionKey: string; limit?: number }) {
      const session = host.sessions.get(toSessionKey(params.sessionKey));
      const messages = (session?.messages ?? []).slice(-(params.limit ?? DEFAULT_HISTORY));
      const sessionId = session === undefined ? {} : { sessionId: session.sessionId };
      return { sessionKey: params.sessionKey, ...sessionId, messages, thinkingLevel: "off" };
    },
  },
  "chat.abort": {
    params: () => shape({ sessionKey: text() }, { runId: text() }),
    scope: writeScope,
    run(host, params: { sessionKey: string }) {
      const key = toSessionKey(params.sessionKey);
      const runs = [...host.active_runs].filter(([, { session_key }]) => session_key === key);
      const { abort_ms } = host.faults;
      if (abort_ms !== Number.POSITIVE_INFINITY) for (const [, { end }] of runs) setTimeout(end, abort_ms).unref();
      return { ok: true, aborted: runs.length > 0, runIds: runs.map(([id]) => id) };
    },
  },
};

/** Starts a run, which ends right after the response unless the fault `run_ms` prolongs it. */
function startRun(host: Host, message: ChatMessage): void {
  const { run_ms } = host.faults;
  if (run_ms === 0) return void setImmediate(() => finishRun(host, message));
  const end = (): void => {
    if (host.active_runs.delete(message.idempotency_key)) finishRun(host, message);
  };
  host.active_runs.set(message.idempotency_key, { session_key: message.session_key, end });
  setTimeout(end, run_ms).unref();
}

function finishRun(host: Host, message: ChatMessage): void {
  host.onMessageAccepted(message);
  const { session_key: sessionKey, idempotency_key: runId } = message;
  const reply = (message.seen !== null && host.options.reply?.(message)) || null;
  const answer = reply === null ? {} : { message: appendMessage(host, sessionKey, "assistant", reply) };
  host.runs.set(runId, "ok");
  host.broadcast("agent", { runId, sessionKey, stream: "lifecycle", data: { phase: "end" } });
  host.broadcast("chat", { runId, sessionKey, seq: 1, state: "final", ...answer });
}

/** Adds a line to a session's history and returns it. */
export function appendMessage(host: Host, key: string, role: "user" | "assistant", content: string) {
  const session = ensureSession(host, key);
  const line = { role, content: [{ type: "text" as const, text: content }], timestamp: Date.now() };
  session.messages.push(line);
  session.updatedAt = line.timestamp;
  return line;
}
