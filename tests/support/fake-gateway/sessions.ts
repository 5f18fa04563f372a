import { randomUUID } from "node:crypto";
import { toAgentId } from "./agents.ts";
import { agentsOf } from "./config.ts";
import type { Host, Method, SessionEntry } from "./host.ts";
import { adminScope, readScope } from "./host.ts";
import { RpcError } from "./rpc-error.ts";
import { flag, integer, orNull, shape, text } from "./validators.ts";

/** Expands a short key such as `main`, which belongs to the main agent. A full key stays unchanged, including its case. */
export function toSessionKey(key: string): string {
  const trimmed = key.trim();
  return trimmed.startsWith("agent:") ? trimmed : `agent:main:${trimmed}`;
}

/** Returns the normalized id of the agent in a session key. */
export function agentOfKey(key: string): string {
  return toAgentId(key.split(":")[1] ?? "");
}

export function ensureSession(host: Host, key: string): SessionEntry {
  const entry = host.sessions.get(key) ?? { sessionId: randomUUID(), updatedAt: Date.now(), messages: [] };
  host.sessions.set(key, entry);
  return entry;
}

function withoutMessages({ messages: _messages, usage: _usage, ...entry }: SessionEntry): object {
  return entry;
}

const listOptions = {
  limit: integer({ min: 1 }),
  activeMinutes: integer({ min: 1 }),
  includeGlobal: flag,
  includeUnknown: flag,
  includeDerivedTitles: flag,
  includeLastMessage: flag,
  label: text(),
  spawnedBy: text(),
  agentId: text(),
  search: text({ min: 0 }),
};

/**
 * sessions.list, usage, patch, reset and delete. Patch and reset create a missing session, and deleting a missing session
 * succeeds.
 */
export const sessionMethods: Record<string, Method> = {
  "sessions.list": {
    params: () => shape({}, listOptions),
    scope: readScope,
    run(host, params: { limit?: number; label?: string; agentId?: string } | null) {
      // Sessions of deleted agents are hidden, even if their files were kept.
      const agents = new Set(agentsOf(host.config.runtime(), host.dialect).map(({ id }) => id));
      const sessions = [...host.sessions]
        .filter(([key, entry]) => {
          const agent = agentOfKey(key);
          const isSelected = params?.agentId === undefined || agent === toAgentId(params.agentId);
          return agents.has(agent) && isSelected && (params?.label === undefined || params.label === entry.label);
        })
        .toSorted(([, a], [, b]) => b.updatedAt - a.updatedAt)
        .slice(0, params?.limit)
        .map(([key, entry]) => ({
          key,
          kind: "direct",
          ...withoutMessages(entry),
          displayName: entry.label ?? key,
          totalTokens: 0,
        }));
      const defaults = { modelProvider: "anthropic", model: "default", contextTokens: 200_000 };
      return { ts: Date.now(), path: "(multiple)", count: sessions.length, defaults, sessions };
    },
  },
  "sessions.usage": {
    params: () => shape({}, { key: text(), startDate: text(), endDate: text(), limit: integer({ min: 1 }) }),
    scope: readScope,
    run(host, params: { key?: string; startDate?: string; endDate?: string } | null) {
      const sessions = [...host.sessions]
        .filter(([key]) => params?.key === undefined || key === params.key)
        .map(([key, { sessionId, updatedAt, usage, messages, counting }]) => {
          const answered = messages.filter(({ role }) => role === "user").length;
          const echo = { provider: "fake", model: "echo", totals: { input: answered, output: answered } };
          const counted = counting === "nothing" ? null : { modelUsage: usage ?? [echo] };
          return { key, sessionId, updatedAt, usage: counted, isCounting: counting !== undefined };
        });
      const status = sessions.some(({ isCounting }) => isCounting) ? "refreshing" : "fresh";
      return { updatedAt: Date.now(), startDate: params?.startDate, endDate: params?.endDate, sessions, cacheStatus: { status } };
    },
  },
  "sessions.patch": {
    params: () => {
      const level = orNull(text());
      return shape(
        { key: text() },
        { label: orNull(text({ max: 64 })), model: level, thinkingLevel: level, verboseLevel: level },
      );
    },
    scope: adminScope,
    run(host, params: { key: string; label?: string | null }) {
      const key = toSessionKey(params.key);
      const { label } = params;
      const taken = [...host.sessions].some(
        ([other, entry]) => other !== key && entry.label === label && agentOfKey(other) === agentOfKey(key),
      );
      if (typeof label === "string" && taken) throw new RpcError(`label already in use: ${label}`);
      const entry = ensureSession(host, key);
      entry.updatedAt = Date.now();
      if (label === null) delete entry.label;
      else if (label !== undefined) entry.label = label;
      return {
        ok: true,
        path: "/srv/openclaw/sessions.json",
        key,
        entry: withoutMessages(entry),
        resolved: { modelProvider: "anthropic", model: "default" },
      };
    },
  },
  "sessions.reset": {
    params: () => shape({ key: text() }),
    scope: adminScope,
    run(host, params: { key: string }) {
      const key = toSessionKey(params.key);
      const before = host.sessions.get(key);
      const kept = host.dialect.reset_keeps_session_id && before !== undefined;
      const entry: SessionEntry = {
        sessionId: kept ? before.sessionId : randomUUID(),
        updatedAt: Date.now(),
        ...(before?.label === undefined ? {} : { label: before.label }),
        messages: kept ? [{ role: "system", content: [{ type: "text", text: "Reset" }], timestamp: Date.now() }] : [],
      };
      host.sessions.set(key, entry);
      const counters = { systemSent: false, abortedLastRun: false, inputTokens: 0, outputTokens: 0, totalTokens: 0 };
      return { ok: true, key, entry: { ...withoutMessages(entry), ...counters } };
    },
  },
  "sessions.delete": {
    params: () => shape({ key: text() }, { deleteTranscript: flag }),
    scope: adminScope,
    run(host, params: { key: string }) {
      const key = toSessionKey(params.key);
      const kept = key === "agent:main:main" || (host.dialect.keeps_all_main_sessions && /^agent:[^:]+:main$/.test(key));
      if (kept) throw new RpcError(`Cannot delete the main session (${key}).`);
      const deleted = host.sessions.delete(key);
      return { ok: true, key, deleted, ...(deleted ? { archived: [] } : {}) };
    },
  },
};
