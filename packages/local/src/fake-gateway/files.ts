import { createHash } from "node:crypto";
import { agentIdOf, roster, workspaceOf } from "./agents.ts";
import type { Dialect } from "./dialect.ts";
import type { Host, Method } from "./host.ts";
import { admin } from "./host.ts";
import { Refusal } from "./refusal.ts";
import { shape, text } from "./schema.ts";
import { seedWorkspace } from "./workspace.ts";

const readScope = (dialect: Dialect): string => (dialect.read_covers_configuration ? "operator.read" : "operator.admin");

function open(host: Host, agentId: string) {
  const id = agentIdOf(agentId);
  const entry = roster(host).find((candidate) => candidate.id === id);
  if (entry === undefined) throw new Refusal(host.dialect.unknown_agent_text(id));
  const workspace = workspaceOf(host, entry);
  return { id, workspace, files: host.files.get(workspace) ?? seedWorkspace(host, workspace, null) };
}

function accepted(host: Host, name: string): string {
  const trimmed = name.trim();
  if (!host.dialect.accepted_files.includes(trimmed)) throw new Refusal(`unsupported file "${trimmed}"`);
  return trimmed;
}

/** A row of the list, or with `content` the whole file. A file that is not there is no error, only `missing`. */
function described(host: Host, workspace: string, name: string, withContent: boolean): object {
  const file = host.files.get(workspace)?.get(name);
  const path = `${workspace}/${name}`;
  const recent = host.dialect.protocol === 4;
  if (file === undefined) return { name, path, missing: true, ...(recent && withContent ? { expectedAbsent: true } : {}) };
  const hash = recent && withContent ? { hash: createHash("sha256").update(file.content).digest("hex") } : {};
  const size = Buffer.byteLength(file.content);
  return {
    name,
    path,
    missing: false,
    size,
    updatedAtMs: file.updatedAtMs,
    ...(withContent ? { content: file.content, ...hash } : {}),
  };
}

/** Workspace files of an agent. There is no way to delete one on any release. */
export const fileMethods: Record<string, Method> = {
  "agents.files.list": {
    params: () => shape({ agentId: text() }),
    scope: readScope,
    run(host, params: { agentId: string }) {
      const { id, workspace } = open(host, params.agentId);
      return { agentId: id, workspace, files: host.dialect.listed_files.map((name) => described(host, workspace, name, false)) };
    },
  },
  "agents.files.get": {
    params: () => shape({ agentId: text(), name: text() }),
    scope: readScope,
    run(host, params: { agentId: string; name: string }) {
      const { id, workspace } = open(host, params.agentId);
      return { agentId: id, workspace, file: described(host, workspace, accepted(host, params.name), true) };
    },
  },
  "agents.files.set": {
    params: () => shape({ agentId: text(), name: text(), content: text({ min: 0 }) }),
    scope: admin,
    run(host, params: { agentId: string; name: string; content: string }) {
      const { id, workspace, files } = open(host, params.agentId);
      const name = accepted(host, params.name);
      files.set(name, { content: params.content, updatedAtMs: Date.now() });
      return { ok: true, agentId: id, workspace, file: described(host, workspace, name, true) };
    },
  },
};
