import { hostAgentId } from "../agent/host.ts";
import { replaceToken } from "../agent/token-change.ts";
import type { Context } from "../context.ts";
import type { Host } from "../gateway/host.ts";
import { checkVersion, parseVersion } from "../gateway/version.ts";
import { listFiles, writeFiles } from "../gateway/workspace.ts";
import type { TemplateSubject } from "./context.ts";
import { PRESERVED, roleOf } from "./files.ts";
import { renderFiles, type RenderedFile } from "./render.ts";
import { findRoleSoul } from "./role-soul.ts";
import { roleName } from "./values.ts";

export interface FilesResult {
  files_written: number;
  /** For each file whose content stands in another one, because the host does not take it. */
  warnings: string[];
  /** The host is too old for this agent; what it takes is written all the same. */
  error: string | null;
}

export interface FilesOptions {
  auth_token: string;
  /** The token may be another one than the agent is known by: it replaces that one as soon as the host has TOOLS.md. */
  new_token: boolean;
  /** Nothing of the agent's own is on the host yet: every file of its role is written. */
  first: boolean;
  /** Writes BOOTSTRAP.md again, with which the agent would begin anew. */
  force_bootstrap: boolean;
  /** Writes over what agents keep themselves, too. */
  overwrite: boolean;
  /** The host is older than GATEWAY_MIN_VERSION. */
  below_minimum: boolean;
  /** Leaves TOOLS.md alone: the token is not known. */
  skip_tools?: boolean;
}

/**
 * Renders the files of one agent and writes them to its host (contract gateways.md §10.1). Rejects with a GatewayError, or
 * with Superseded when a new token finds the agent gone or of another generation.
 */
export async function writeAgentFiles(
  ctx: Context,
  host: Host,
  subject: TemplateSubject,
  options: FilesOptions,
): Promise<FilesResult> {
  const { agent } = subject;
  const { auth_token, new_token, first, force_bootstrap, overwrite, below_minimum, skip_tools = false } = options;
  const id = hostAgentId(agent.openclaw_session_id ?? agent.name);
  const kept = first || overwrite ? null : await listFiles(host, id);
  const isDue = ({ name }: RenderedFile): boolean => {
    if (name === "TOOLS.md") return !skip_tools;
    if (name === "BOOTSTRAP.md") return first || force_bootstrap;
    return !(PRESERVED.has(name) && kept?.has(name));
  };
  const hasRoleSoul = roleOf(agent) === "worker" && !agent.soul_template?.trim();
  const role_soul = hasRoleSoul ? await findRoleSoul(ctx, roleName(agent.identity_profile)) : null;
  const files = renderFiles(subject, { auth_token, base_url: ctx.settings.service_url, role_soul }).filter(isDue);
  return writeFiles(host, { id, is_lead: roleOf(agent) === "lead" }, files, {
    below_minimum,
    ...(new_token ? { accepted: () => replaceToken(ctx, agent, auth_token) } : {}),
  });
}

/** Whether the host is older than the service asks for. A version that nobody told is none to hold against it. */
export function isBelowMinimum(ctx: Context, { hello }: Host, known: { version: string | null }): boolean {
  const told = hello.version !== null && parseVersion(hello.version) !== null;
  return checkVersion(told ? hello.version : known.version, ctx.settings.gateway_min_version).kind === "incompatible";
}
