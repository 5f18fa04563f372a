import type { AgentEntry, JsonObject } from "./config.ts";
import { agentsOf, objectOf, withAgents } from "./config.ts";
import type { Host, Method } from "./host.ts";
import { adminScope, readScope } from "./host.ts";
import { RpcError } from "./rpc-error.ts";
import { flag, shape, text } from "./validators.ts";
import { deleteFinishedBootstrap, seedWorkspace } from "./workspace.ts";

const MAIN = "main";
const STATE_FOLDER = "/srv/openclaw";

/** Normalizes a name to an id: lower case, other characters become `-`, at most 64 characters, `main` if it is empty. */
export function toAgentId(name: string): string {
  const lower = name.trim().toLowerCase();
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(lower)) return lower;
  const id = lower.replace(/[^a-z0-9_-]+/g, "-").replace(/^-+/, "");
  let end = id.length;
  while (id[end - 1] === "-") end -= 1;
  return id.slice(0, Math.min(end, 64)) || MAIN;
}

/** Returns the agents of the host, except new agents that the fault `unknown_after_create_ms` hides. */
export function visibleAgents(host: Host): AgentEntry[] {
  const now = Date.now();
  return agentsOf(host.config.runtime(), host.dialect).filter(
    ({ id }) => now - (host.created_at.get(id) ?? 0) >= host.faults.unknown_after_create_ms,
  );
}

export function workspaceOf(host: Host, entry: AgentEntry): string {
  if (typeof entry.workspace === "string") return toAbsolutePath(entry.workspace);
  const defaults = objectOf(objectOf(host.config.runtime().agents).defaults);
  return entry.id === MAIN && typeof defaults.workspace === "string"
    ? defaults.workspace
    : `${STATE_FOLDER}/workspace-${entry.id}`;
}

function toAbsolutePath(path: string): string {
  if (path.startsWith("~/")) return `${STATE_FOLDER}/home/${path.slice(2)}`;
  return path.startsWith("/") ? path : `${STATE_FOLDER}/${path}`;
}

function requireAgent(host: Host, agentId: string): AgentEntry {
  const id = toAgentId(agentId);
  const found = visibleAgents(host).find((entry) => entry.id === id);
  if (found === undefined) throw new RpcError(`agent "${id}" not found`);
  return found;
}

/**
 * Changes the configuration that the host has in memory, which may be older than the file. A real host does the same, so a write
 * that follows another too quickly undoes it.
 */
function writeAgents(host: Host, change: (entries: AgentEntry[]) => AgentEntry[]): void {
  const runtime = host.config.runtime();
  host.config.write(withAgents(runtime, host.dialect, change(agentsOf(runtime, host.dialect))));
}

/** agents.list, create, update and delete. Agents are stored only in the configuration. */
export const agentMethods: Record<string, Method> = {
  "agents.list": {
    params: () => shape({}),
    scope: readScope,
    run(host) {
      const detailed = host.dialect.backend_is_trusted;
      const agents = agentsOf(host.config.runtime(), host.dialect).map((entry) => ({
        id: entry.id,
        ...(entry.name === undefined ? {} : { name: entry.name }),
        ...(detailed ? { workspace: workspaceOf(host, entry) } : {}),
      }));
      return { defaultId: MAIN, mainKey: MAIN, scope: "per-sender", agents };
    },
  },
  "agents.create": {
    params: ({ protocol }) => {
      const optional = { emoji: text(), avatar: text() };
      return protocol === 4
        ? shape({ name: text() }, { ...optional, workspace: text(), model: text() })
        : shape({ name: text(), workspace: text() }, optional);
    },
    scope: adminScope,
    writes: "agents",
    run(host, params: { name: string; workspace?: string }) {
      const id = toAgentId(params.name);
      if (id === MAIN) throw new RpcError(host.dialect.reserved_main_text);
      if (agentsOf(host.config.runtime(), host.dialect).some((entry) => entry.id === id))
        throw new RpcError(`agent "${id}" already exists`);
      const name = params.name.trim();
      const workspace = toAbsolutePath(params.workspace ?? `workspace-${id}`);
      writeAgents(host, (entries) => [...entries, { id, name, workspace, agentDir: `${STATE_FOLDER}/agents/${id}/agent` }]);
      host.created_at.set(id, Date.now());
      seedWorkspace(host, workspace, name);
      return { ok: true, agentId: id, name, workspace };
    },
  },
  "agents.update": {
    params: () => shape({ agentId: text() }, { name: text(), workspace: text(), model: text(), avatar: text() }),
    scope: adminScope,
    writes: "agents",
    run(host, params: { agentId: string; name?: string; workspace?: string; model?: string }) {
      const { id } = requireAgent(host, params.agentId);
      const change: JsonObject = {};
      if (params.name !== undefined) change.name = params.name.trim();
      if (params.workspace !== undefined) change.workspace = toAbsolutePath(params.workspace);
      if (params.model !== undefined) change.model = params.model;
      writeAgents(host, (entries) => entries.map((entry) => (entry.id === id ? { ...entry, ...change } : entry)));
      if (params.workspace !== undefined) {
        seedWorkspace(host, toAbsolutePath(params.workspace), null);
        deleteFinishedBootstrap(host, toAbsolutePath(params.workspace));
      }
      return { ok: true, agentId: id };
    },
  },
  "agents.delete": {
    params: () => shape({ agentId: text() }, { deleteFiles: flag }),
    scope: adminScope,
    writes: "agents",
    run(host, params: { agentId: string; deleteFiles?: boolean }) {
      const id = toAgentId(params.agentId);
      if (id === MAIN && !host.dialect.main_is_deletable) throw new RpcError('"main" cannot be deleted');
      const entry = requireAgent(host, id);
      const workspace = workspaceOf(host, entry);
      const runs = [...host.active_runs.values()].some((run) => run.session_key.startsWith(`agent:${id}:`));
      if (runs && host.dialect.crashes_on_delete_during_run) setImmediate(() => host.crash());
      writeAgents(host, (entries) => entries.filter((candidate) => candidate.id !== id));
      if (params.deleteFiles ?? true) {
        host.files.delete(workspace);
        host.bootstrapped_workspaces.delete(workspace);
        for (const key of host.sessions.keys()) if (key.startsWith(`agent:${id}:`)) host.sessions.delete(key);
      }
      return { ok: true, agentId: id, removedBindings: 0, ...(host.dialect.protocol === 4 ? { removed: [], failed: [] } : {}) };
    },
  },
};
