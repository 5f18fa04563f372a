import type { AgentEntry, JsonObject } from "./config.ts";
import { agentsOf, objectOf, withAgents } from "./config.ts";
import type { Host, Method } from "./host.ts";
import { admin, read } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { flag, shape, text } from "./schema.ts";
import { lookAfter, seedWorkspace } from "./workspace.ts";

const MAIN = "main";
const STATE_FOLDER = "/srv/openclaw";

/** Lower case, other characters than letters, digits, `_` and `-` become `-`, none at the ends, 64 at most; nothing left is `main`. */
export function agentIdOf(name: string): string {
  const lower = name.trim().toLowerCase();
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(lower)) return lower;
  return (
    lower
      .replace(/[^a-z0-9_-]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 64) || MAIN
  );
}

/** The agents the host knows at this moment, a just created one excepted where the fault says so. */
export function roster(host: Host): AgentEntry[] {
  const now = Date.now();
  return agentsOf(host.config.runtime(), host.dialect).filter(
    ({ id }) => now - (host.created.get(id) ?? 0) >= host.faults.unknown_after_create_ms,
  );
}

export function workspaceOf(host: Host, entry: AgentEntry): string {
  if (typeof entry.workspace === "string") return absolute(entry.workspace);
  const defaults = objectOf(objectOf(host.config.runtime().agents).defaults);
  return entry.id === MAIN && typeof defaults.workspace === "string"
    ? defaults.workspace
    : `${STATE_FOLDER}/workspace-${entry.id}`;
}

function absolute(path: string): string {
  if (path.startsWith("~/")) return `${STATE_FOLDER}/home/${path.slice(2)}`;
  return path.startsWith("/") ? path : `${STATE_FOLDER}/${path}`;
}

function required(host: Host, agentId: string): AgentEntry {
  const id = agentIdOf(agentId);
  const found = roster(host).find((entry) => entry.id === id);
  if (found === undefined) throw new Refusal(`agent "${id}" not found`);
  return found;
}

/** Works on the configuration as the host has it in memory, which is how writes in quick succession get lost. */
function writeRoster(host: Host, change: (entries: AgentEntry[]) => AgentEntry[]): void {
  const runtime = host.config.runtime();
  host.config.write(withAgents(runtime, host.dialect, change(agentsOf(runtime, host.dialect))));
}

/** agents.list, create, update and delete. The configuration is the only roster. */
export const agentMethods: Record<string, Method> = {
  "agents.list": {
    params: () => shape({}),
    scope: read,
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
    scope: admin,
    writes: "agents",
    run(host, params: { name: string; workspace?: string }) {
      const id = agentIdOf(params.name);
      if (id === MAIN) throw new Refusal(host.dialect.reserved_main_text);
      if (agentsOf(host.config.runtime(), host.dialect).some((entry) => entry.id === id))
        throw new Refusal(`agent "${id}" already exists`);
      const name = params.name.trim();
      const workspace = absolute(params.workspace ?? `workspace-${id}`);
      writeRoster(host, (entries) => [...entries, { id, name, workspace, agentDir: `${STATE_FOLDER}/agents/${id}/agent` }]);
      host.created.set(id, Date.now());
      seedWorkspace(host, workspace, name);
      return { ok: true, agentId: id, name, workspace };
    },
  },
  "agents.update": {
    params: () => shape({ agentId: text() }, { name: text(), workspace: text(), model: text(), avatar: text() }),
    scope: admin,
    writes: "agents",
    run(host, params: { agentId: string; name?: string; workspace?: string; model?: string }) {
      const { id } = required(host, params.agentId);
      const change: JsonObject = {};
      if (params.name !== undefined) change.name = params.name.trim();
      if (params.workspace !== undefined) change.workspace = absolute(params.workspace);
      if (params.model !== undefined) change.model = params.model;
      writeRoster(host, (entries) => entries.map((entry) => (entry.id === id ? { ...entry, ...change } : entry)));
      if (params.workspace !== undefined) {
        seedWorkspace(host, absolute(params.workspace), null);
        lookAfter(host, absolute(params.workspace));
      }
      return { ok: true, agentId: id };
    },
  },
  "agents.delete": {
    params: () => shape({ agentId: text() }, { deleteFiles: flag }),
    scope: admin,
    writes: "agents",
    run(host, params: { agentId: string; deleteFiles?: boolean }) {
      const id = agentIdOf(params.agentId);
      if (id === MAIN && !host.dialect.main_is_deletable) throw new Refusal('"main" cannot be deleted');
      const entry = required(host, id);
      const workspace = workspaceOf(host, entry);
      const runs = [...host.running.values()].some((run) => run.session_key.startsWith(`agent:${id}:`));
      if (runs && host.dialect.dies_of_deleting_runs) setImmediate(() => host.crash());
      writeRoster(host, (entries) => entries.filter((candidate) => candidate.id !== id));
      if (params.deleteFiles ?? true) {
        host.files.delete(workspace);
        host.set_up.delete(workspace);
        for (const key of host.sessions.keys()) if (key.startsWith(`agent:${id}:`)) host.sessions.delete(key);
      }
      return { ok: true, agentId: id, removedBindings: 0, ...(host.dialect.protocol === 4 ? { removed: [], failed: [] } : {}) };
    },
  },
};
