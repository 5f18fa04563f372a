import { createHash } from "node:crypto";
import type { Dialect } from "./dialect.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** One agent in the configuration. */
export type AgentEntry = JsonObject & { id: string };

export interface ConfigStore {
  /** Returns the file on disk, which config.get shows and config.patch changes. */
  file(): JsonObject;
  /** Returns the configuration that agents.* calls use. In some releases it lags behind the file. Do not modify it. */
  runtime(): JsonObject;
  /** Changes with every write, even if the content stays equal. */
  hash(): string;
  write(next: JsonObject): void;
  /** Reads the file again, as a restart does. */
  reload(): void;
}

export function createConfigStore(dialect: Dialect, version: string, initial: JsonObject, stale_ms: number): ConfigStore {
  let file = dialect.meta_at_start ? withMeta(initial, version, 0) : initial;
  let runtime = file;
  let stale_until = 0;
  let written_at = 0;
  return {
    file: () => structuredClone(file),
    runtime() {
      if (Date.now() >= stale_until) runtime = file;
      return runtime;
    },
    hash: () => dialect.hash_prefix + createHash("sha256").update(JSON.stringify(file)).digest("hex"),
    write(next) {
      if (Date.now() >= stale_until) runtime = file;
      written_at = Math.max(Date.now(), written_at + 1);
      file = withMeta(structuredClone(next), version, written_at);
      stale_until = Date.now() + stale_ms;
    },
    reload() {
      stale_until = 0;
    },
  };
}

function withMeta(config: JsonObject, version: string, at: number): JsonObject {
  return { ...config, meta: { lastTouchedVersion: version, lastTouchedAt: new Date(at).toISOString() } };
}

/** Returns the agents of a configuration. A configuration without agents has the agent `main`. */
export function agentsOf(config: JsonObject, dialect: Dialect): AgentEntry[] {
  const agents = objectOf(config.agents);
  if (dialect.agents === "entries") {
    const entries = Object.entries(objectOf(agents.entries)).map(([id, entry]) => ({ ...objectOf(entry), id }));
    return entries.length === 0 ? [{ id: "main" }] : entries;
  }
  return Array.isArray(agents.list) ? (agents.list as AgentEntry[]) : [{ id: "main" }];
}

/** Returns a copy of the configuration with these agents. */
export function withAgents(config: JsonObject, dialect: Dialect, roster: readonly AgentEntry[]): JsonObject {
  const agents = objectOf(config.agents);
  if (dialect.agents === "list") return { ...config, agents: { ...agents, list: [...roster] } };
  const entries = Object.fromEntries(roster.map(({ id, ...entry }) => [id, entry as Json]));
  return { ...config, agents: { ...agents, entries } };
}

export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

const REDACTED = "__OPENCLAW_REDACTED__";

/** Replaces secrets for responses. `restoreSecrets` puts them back into a configuration that a client sends. */
export function redactSecrets(config: JsonObject): JsonObject {
  const gateway = objectOf(config.gateway);
  const auth = objectOf(gateway.auth);
  return auth.token === undefined ? config : { ...config, gateway: { ...gateway, auth: { ...auth, token: REDACTED } } };
}

export function restoreSecrets(config: JsonObject, file: JsonObject): JsonObject {
  const gateway = objectOf(config.gateway);
  const auth = objectOf(gateway.auth);
  if (auth.token !== REDACTED) return config;
  const token = objectOf(objectOf(file.gateway).auth).token ?? null;
  return { ...config, gateway: { ...gateway, auth: { ...auth, token } } };
}

/** Applies a JSON merge patch. Some releases merge the list of agents by id instead of replacing it. */
export function applyPatch(config: JsonObject, patch: JsonObject, dialect: Dialect): JsonObject {
  const next = mergePatch(config, patch) as JsonObject;
  const sent = objectOf(patch.agents).list;
  const existing = objectOf(config.agents).list;
  if (dialect.list_patch === "replace" || !Array.isArray(sent) || !Array.isArray(existing)) return next;
  const list = existing.map((entry) => {
    const change = sent.find((candidate) => objectOf(candidate).id === objectOf(entry).id);
    return change === undefined ? entry : mergePatch(entry, change);
  });
  const added = sent.filter((entry) => !existing.some((candidate) => objectOf(candidate).id === objectOf(entry).id));
  return { ...next, agents: { ...objectOf(next.agents), list: [...list, ...added] } };
}

function mergePatch(target: Json | undefined, patch: Json): Json {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const next = { ...objectOf(target) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete next[key];
    else next[key] = mergePatch(next[key], value);
  }
  return next;
}
