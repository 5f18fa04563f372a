import { randomUUID } from "node:crypto";
import { agentIdOf } from "./agents.ts";
import { agentsOf } from "./config.ts";
import type { Host, Method, SessionEntry } from "./host.ts";
import { admin, read } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { flag, integer, orNull, shape, text } from "./schema.ts";

/** `main` and `foo` belong to the main agent; a full key is kept as it is, case included. */
export function sessionKeyOf(key: string): string {
  const trimmed = key.trim();
  return trimmed.startsWith("agent:") ? trimmed : `agent:main:${trimmed}`;
}

/** The agent a session key names, as the roster spells it. */
export function agentOfKey(key: string): string {
  return agentIdOf(key.split(":")[1] ?? "");
}

export function ensureSession(host: Host, key: string): SessionEntry {
  const entry = host.sessions.get(key) ?? { sessionId: randomUUID(), updatedAt: Date.now(), messages: [] };
  host.sessions.set(key, entry);
  return entry;
}

function shown({ messages: _messages, ...entry }: SessionEntry): object {
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

/** sessions.list, patch, reset and delete. Patching and resetting create; deleting what is not there is no error. */
export const sessionMethods: Record<string, Method> = {
  "sessions.list": {
    params: () => shape({}, listOptions),
    scope: read,
    run(host, params: { limit?: number; label?: string; agentId?: string } | null) {
      // Sessions of agents that are gone are hidden, even when their files were kept.
      const agents = new Set(agentsOf(host.config.runtime(), host.dialect).map(({ id }) => id));
      const sessions = [...host.sessions]
        .filter(([key, entry]) => {
          const agent = agentOfKey(key);
          const wanted = params?.agentId === undefined || agent === agentIdOf(params.agentId);
          return agents.has(agent) && wanted && (params?.label === undefined || params.label === entry.label);
        })
        .toSorted(([, a], [, b]) => b.updatedAt - a.updatedAt)
        .slice(0, params?.limit)
        .map(([key, entry]) => ({ key, kind: "direct", ...shown(entry), displayName: entry.label ?? key, totalTokens: 0 }));
      const defaults = { modelProvider: "anthropic", model: "default", contextTokens: 200_000 };
      return { ts: Date.now(), path: "(multiple)", count: sessions.length, defaults, sessions };
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
    scope: admin,
    run(host, params: { key: string; label?: string | null }) {
      const key = sessionKeyOf(params.key);
      const { label } = params;
      const taken = [...host.sessions].some(
        ([other, entry]) => other !== key && entry.label === label && agentOfKey(other) === agentOfKey(key),
      );
      if (typeof label === "string" && taken) throw new Refusal(`label already in use: ${label}`);
      const entry = ensureSession(host, key);
      entry.updatedAt = Date.now();
      if (label === null) delete entry.label;
      else if (label !== undefined) entry.label = label;
      return {
        ok: true,
        path: "/srv/openclaw/sessions.json",
        key,
        entry: shown(entry),
        resolved: { modelProvider: "anthropic", model: "default" },
      };
    },
  },
  "sessions.reset": {
    params: () => shape({ key: text() }),
    scope: admin,
    run(host, params: { key: string }) {
      const key = sessionKeyOf(params.key);
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
      return { ok: true, key, entry: { ...shown(entry), ...counters } };
    },
  },
  "sessions.delete": {
    params: () => shape({ key: text() }, { deleteTranscript: flag }),
    scope: admin,
    run(host, params: { key: string }) {
      const key = sessionKeyOf(params.key);
      const kept = key === "agent:main:main" || (host.dialect.main_sessions_are_kept && /^agent:[^:]+:main$/.test(key));
      if (kept) throw new Refusal(`Cannot delete the main session (${key}).`);
      const deleted = host.sessions.delete(key);
      return { ok: true, key, deleted, ...(deleted ? { archived: [] } : {}) };
    },
  },
};
