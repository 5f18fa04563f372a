import { createHash } from "node:crypto";
import { toAgentId, visibleAgents, workspaceOf } from "./agents.ts";
import type { Dialect } from "./dialect.ts";
import type { Host, Method } from "./host.ts";
import { adminScope } from "./host.ts";
import { RpcError } from "./rpc-error.ts";
import { shape, text } from "./validators.ts";
import { seedWorkspace } from "./workspace.ts";

const readScope = (dialect: Dialect): string => (dialect.read_covers_configuration ? "operator.read" : "operator.admin");

function openWorkspace(host: Host, agentId: string) {
  const id = toAgentId(agentId);
  const entry = visibleAgents(host).find((candidate) => candidate.id === id);
  if (entry === undefined) throw new RpcError(host.dialect.unknown_agent_text(id));
  const workspace = workspaceOf(host, entry);
  return { id, workspace, files: host.files.get(workspace) ?? seedWorkspace(host, workspace, null) };
}

function requireAcceptedName(host: Host, name: string): string {
  const trimmed = name.trim();
  if (!host.dialect.accepted_files.includes(trimmed)) throw new RpcError(`unsupported file "${trimmed}"`);
  return trimmed;
}

/** Describes a file, optionally with its content. A file that does not exist is reported as `missing`, not as an error. */
function describeFile(host: Host, workspace: string, name: string, withContent: boolean): object {
  const file = host.files.get(workspace)?.get(name);
  const path = `${workspace}/${name}`;
  const isProtocol4 = host.dialect.protocol === 4;
  if (file === undefined) return { name, path, missing: true, ...(isProtocol4 && withContent ? { expectedAbsent: true } : {}) };
  const hash = isProtocol4 && withContent ? { hash: createHash("sha256").update(file.content).digest("hex") } : {};
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

/** Workspace files of an agent. No release has a method that deletes a file. */
export const fileMethods: Record<string, Method> = {
  "agents.files.list": {
    params: () => shape({ agentId: text() }),
    scope: readScope,
    run(host, params: { agentId: string }) {
      const { id, workspace } = openWorkspace(host, params.agentId);
      return {
        agentId: id,
        workspace,
        files: host.dialect.listed_files.map((name) => describeFile(host, workspace, name, false)),
      };
    },
  },
  "agents.files.get": {
    params: () => shape({ agentId: text(), name: text() }),
    scope: readScope,
    run(host, params: { agentId: string; name: string }) {
      const { id, workspace } = openWorkspace(host, params.agentId);
      return { agentId: id, workspace, file: describeFile(host, workspace, requireAcceptedName(host, params.name), true) };
    },
  },
  "agents.files.set": {
    params: () => shape({ agentId: text(), name: text(), content: text({ min: 0 }) }),
    scope: adminScope,
    run(host, params: { agentId: string; name: string; content: string }) {
      const { id, workspace, files } = openWorkspace(host, params.agentId);
      const name = requireAcceptedName(host, params.name);
      files.set(name, { content: params.content, updatedAtMs: Date.now() });
      return { ok: true, agentId: id, workspace, file: describeFile(host, workspace, name, true) };
    },
  },
};
