import { createHash } from "node:crypto";
import type { Dialect } from "./dialect.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** One agent of the roster, as the configuration holds it. */
export type AgentEntry = JsonObject & { id: string };

export interface ConfigStore {
  /** The file on disk: what config.get shows and config.patch changes. */
  file(): JsonObject;
  /** What agents.* calls work with; after a write it lags behind the file where the release does. To read only: every call does. */
  runtime(): JsonObject;
  /** Changes with every write, also with one that changes nothing else. */
  hash(): string;
  write(next: JsonObject): void;
  /** A restart reads the file anew. */
  reload(): void;
}

export function createConfig(dialect: Dialect, version: string, initial: JsonObject, stale_ms: number): ConfigStore {
  let file = dialect.meta_at_start ? touched(initial, version, 0) : initial;
  let runtime = file;
  let lagging_until = 0;
  let written_at = 0;
  return {
    file: () => structuredClone(file),
    runtime() {
      if (Date.now() >= lagging_until) runtime = file;
      return runtime;
    },
    hash: () => dialect.hash_prefix + createHash("sha256").update(JSON.stringify(file)).digest("hex"),
    write(next) {
      if (Date.now() >= lagging_until) runtime = file;
      written_at = Math.max(Date.now(), written_at + 1);
      file = touched(structuredClone(next), version, written_at);
      lagging_until = Date.now() + stale_ms;
    },
    reload() {
      lagging_until = 0;
    },
  };
}

function touched(config: JsonObject, version: string, at: number): JsonObject {
  return { ...config, meta: { lastTouchedVersion: version, lastTouchedAt: new Date(at).toISOString() } };
}

/** The roster of a configuration; a host that was never told of agents has `main`. */
export function agentsOf(config: JsonObject, dialect: Dialect): AgentEntry[] {
  const agents = objectOf(config.agents);
  if (dialect.agents === "entries") {
    const entries = Object.entries(objectOf(agents.entries)).map(([id, entry]) => ({ ...objectOf(entry), id }));
    return entries.length === 0 ? [{ id: "main" }] : entries;
  }
  return Array.isArray(agents.list) ? (agents.list as AgentEntry[]) : [{ id: "main" }];
}

/** The configuration with this roster in it. */
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

/** Secrets are shown to nobody; `restored` puts them back into what a client read, changed and sent. */
export function redacted(config: JsonObject): JsonObject {
  const gateway = objectOf(config.gateway);
  const auth = objectOf(gateway.auth);
  return auth.token === undefined ? config : { ...config, gateway: { ...gateway, auth: { ...auth, token: REDACTED } } };
}

export function restored(config: JsonObject, file: JsonObject): JsonObject {
  const gateway = objectOf(config.gateway);
  const auth = objectOf(gateway.auth);
  if (auth.token !== REDACTED) return config;
  const token = objectOf(objectOf(file.gateway).auth).token ?? null;
  return { ...config, gateway: { ...gateway, auth: { ...auth, token } } };
}

/** A JSON merge patch: null removes, objects merge, everything else replaces; some releases merge the agent list by id. */
export function merged(config: JsonObject, patch: JsonObject, dialect: Dialect): JsonObject {
  const next = mergePatch(config, patch) as JsonObject;
  const sent = objectOf(patch.agents).list;
  const known = objectOf(config.agents).list;
  if (dialect.list_patch === "replace" || !Array.isArray(sent) || !Array.isArray(known)) return next;
  const list = known.map((entry) => {
    const change = sent.find((candidate) => objectOf(candidate).id === objectOf(entry).id);
    return change === undefined ? entry : mergePatch(entry, change);
  });
  const added = sent.filter((entry) => !known.some((candidate) => objectOf(candidate).id === objectOf(entry).id));
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
