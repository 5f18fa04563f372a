import { workspaceOf } from "./agents.ts";
import { agentsOf } from "./config.ts";
import type { ChatMessage, Host, Method } from "./host.ts";
import { read, write } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { anything, flag, integer, shape, text } from "./schema.ts";
import { agentOfKey, ensureSession, sessionKeyOf } from "./sessions.ts";
import { lookAfter } from "./workspace.ts";

const DEFAULT_HISTORY = 200;

interface SendParams {
  sessionKey: string;
  message: string;
  deliver?: boolean;
  idempotencyKey: string;
}

/** chat.send, history and abort. The answer to a message comes from the gateway's `reply`. */
export const chatMethods: Record<string, Method> = {
  "chat.send": {
    params: () =>
      shape(
        { sessionKey: text(), message: text({ min: 0 }), idempotencyKey: text() },
        { deliver: flag, thinking: text({ min: 0 }), attachments: anything, timeoutMs: integer() },
      ),
    scope: write,
    run(host, params: SendParams) {
      const runId = params.idempotencyKey;
      const key = sessionKeyOf(params.sessionKey);
      const agent = agentOfKey(key);
      if (params.message.trim() === "") throw new Refusal("message or attachment required");
      if (host.dialect.chat_needs_agent && !agentsOf(host.config.runtime(), host.dialect).some(({ id }) => id === agent)) {
        throw new Refusal(`Agent "${agent}" no longer exists in configuration`);
      }
      const run = host.runs.get(runId);
      if (run !== undefined) return { runId, status: run };
      const entry = agentsOf(host.config.runtime(), host.dialect).find(({ id }) => id === agent);
      if (entry) lookAfter(host, workspaceOf(host, entry));
      host.runs.set(runId, "in_flight");
      const { message, deliver = false } = params;
      const accepted = { session_key: key, message, deliver, idempotency_key: runId, at: Date.now() };
      host.messages.push(accepted);
      say(host, key, "user", message);
      host.broadcast("agent", { runId, sessionKey: key, stream: "lifecycle", data: { phase: "start" } });
      begin(host, accepted);
      return { runId, status: "started" };
    },
  },
  "chat.history": {
    params: () => shape({ sessionKey: text() }, { limit: integer({ min: 1, max: 1000 }) }),
    scope: read,
    run(host, params: { sessionKey: string; limit?: number }) {
      const session = host.sessions.get(sessionKeyOf(params.sessionKey));
      const messages = (session?.messages ?? []).slice(-(params.limit ?? DEFAULT_HISTORY));
      const known = session === undefined ? {} : { sessionId: session.sessionId };
      return { sessionKey: params.sessionKey, ...known, messages, thinkingLevel: "off" };
    },
  },
  "chat.abort": {
    params: () => shape({ sessionKey: text() }, { runId: text() }),
    scope: write,
    run(host, params: { sessionKey: string }) {
      const key = sessionKeyOf(params.sessionKey);
      const runs = [...host.running].filter(([, { session_key }]) => session_key === key);
      const { abort_ms } = host.faults;
      if (abort_ms !== Number.POSITIVE_INFINITY) for (const [, { end }] of runs) setTimeout(end, abort_ms).unref();
      return { ok: true, aborted: runs.length > 0, runIds: runs.map(([id]) => id) };
    },
  },
};

/** A run ends as soon as its answer is out, unless it was told to take its time. */
function begin(host: Host, message: ChatMessage): void {
  const { run_ms } = host.faults;
  if (run_ms === 0) return void setImmediate(() => finish(host, message));
  const end = (): void => {
    if (host.running.delete(message.idempotency_key)) finish(host, message);
  };
  host.running.set(message.idempotency_key, { session_key: message.session_key, end });
  setTimeout(end, run_ms).unref();
}

function finish(host: Host, message: ChatMessage): void {
  host.heard(message);
  const { session_key: sessionKey, idempotency_key: runId } = message;
  const reply = host.options.reply?.(message) ?? null;
  const answer = reply === null ? {} : { message: say(host, sessionKey, "assistant", reply) };
  host.runs.set(runId, "ok");
  host.broadcast("agent", { runId, sessionKey, stream: "lifecycle", data: { phase: "end" } });
  host.broadcast("chat", { runId, sessionKey, seq: 1, state: "final", ...answer });
}

/** Adds a line to a session's history and returns it. */
export function say(host: Host, key: string, role: "user" | "assistant", words: string) {
  const session = ensureSession(host, key);
  const line = { role, content: [{ type: "text" as const, text: words }], timestamp: Date.now() };
  session.messages.push(line);
  session.updatedAt = line.timestamp;
  return line;
}
