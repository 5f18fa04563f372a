import { toEntryId, workspacePath } from "@board/core/values/session-key";
import { ensureEntry, type HostEntry } from "../host/entries.ts";
import { replaceToken } from "@board/core/agent/token-rotation";
import type { Context } from "@board/core/context/context";
import type { Host } from "../host/open.ts";
import { checkVersion, parseVersion } from "../wire/version.ts";
import { listFiles, writeFiles } from "../host/workspace.ts";
import { unreadableTokenMessage } from "./host-token.ts";
import { renderAgentFiles } from "../template/agent-files.ts";
import type { TemplateSubject } from "../template/template-data.ts";
import { PRESERVED_FILES, toRole } from "../template/files.ts";
import { RenderTooLarge } from "../template/budget.ts";
import type { RenderedFile } from "../template/render.ts";

interface FilesResult {
  files_written: number;
  /** One warning for each file that the host refuses and whose content was written into another file. */
  warnings: string[];
  /** Why an old host cannot run this agent. The files that the host accepts are written in any case. */
  error: string | null;
}

interface FilesOptions {
  auth_token: string;
  /** The token may differ from the stored token, and replaces the stored token as soon as the host has TOOLS.md. */
  new_token: boolean;
  /** The host has no files of the agent yet, so every file of its role is written. */
  first: boolean;
  /** Writes BOOTSTRAP.md again, which makes the agent start from the beginning. */
  force_bootstrap: boolean;
  /** Also overwrites the files that agents maintain themselves. */
  overwrite: boolean;
  /** The host is older than GATEWAY_MIN_VERSION. */
  below_minimum: boolean;
  /** Leaves TOOLS.md unchanged, because the token is unknown. */
  skip_tools: boolean;
}

interface PlacementOptions extends Omit<FilesOptions, "auth_token" | "new_token" | "skip_tools"> {
  /** Creates the host entry when it is missing. */
  create: boolean;
  /** The host entries from an earlier listing. Without them, the entries are listed again. */
  present?: readonly HostEntry[];
  /** Called once the entry exists. */
  findToken: () => Promise<PlacementToken>;
  /** What happens without a token: `skip_tools` writes every file but TOOLS.md, `fail` writes nothing. */
  without_token: "skip_tools" | "fail";
}

export interface PlacementToken {
  token: string | null;
  /** Why there is no token. */
  problem: string | null;
  /** Whether the token differs, or may differ, from the stored token; see `new_token`. */
  is_new: boolean;
}

/** `files` is null when nothing was written. `problem` then says why. */
type PlacementResult = { files: FilesResult; problem: string | null } | { files: null; problem: string };

/**
 * Ensures that the host has an agent's entry, finds its token and writes its files. Every step checks what the host already has, so
 * repeating it is safe. Rejects with a GatewayError, or with Superseded when an agent that gets a new token no longer exists.
 */
export async function placeOnHost(
  ctx: Context,
  host: Host,
  subject: TemplateSubject,
  { create, present, findToken, without_token, first, ...options }: PlacementOptions,
): Promise<PlacementResult> {
  const { agent, gateway } = subject;
  const id = toEntryId(agent);
  const placement = { id, name: agent.name, workspace: workspacePath(gateway.workspace_root, id) };
  const entry = await ensureEntry(host, placement, { create, ...(present ? { present } : {}) });
  if (entry === "missing") return { files: null, problem: unreadableTokenMessage(agent) };
  const { token, problem, is_new } = await findToken();
  if (token === null && without_token === "fail") return { files: null, problem: problem ?? unreadableTokenMessage(agent) };
  try {
    const files = await writeAgentFiles(ctx, host, subject, {
      ...options,
      auth_token: token ?? "",
      new_token: is_new,
      first: first || entry === "created",
      skip_tools: token === null,
    });
    return { files, problem };
  } catch (error) {
    if (error instanceof RenderTooLarge) return { files: null, problem: error.message };
    throw error;
  }
}

/** Renders the files of one agent and writes them to its host (docs/reference/gateways.md#workspace-files). */
async function writeAgentFiles(ctx: Context, host: Host, subject: TemplateSubject, options: FilesOptions): Promise<FilesResult> {
  const { agent, gateway } = subject;
  const { auth_token, new_token, first, force_bootstrap, overwrite, below_minimum, skip_tools } = options;
  const id = toEntryId(agent);
  const existing = first || overwrite ? null : await listFiles(host, id);
  const shouldWrite = ({ name }: RenderedFile): boolean => {
    if (name === "TOOLS.md") return !skip_tools;
    if (name === "BOOTSTRAP.md") return first || force_bootstrap;
    return !(PRESERVED_FILES.has(name) && existing?.has(name));
  };
  const files = (await renderAgentFiles(ctx, subject, auth_token)).filter(shouldWrite);
  return writeFiles(host, { id, is_lead: toRole(agent) === "lead" }, files, {
    below_minimum,
    ...(new_token ? { onToolsWritten: () => replaceToken(ctx, gateway.organization_id, agent, auth_token) } : {}),
  });
}

/** Returns whether the host is older than GATEWAY_MIN_VERSION. An unknown version does not count as older. */
export function isBelowMinimum(ctx: Context, { hello }: Host, stored: { version: string | null }): boolean {
  const hasVersion = hello.version !== null && parseVersion(hello.version) !== null;
  return checkVersion(hasVersion ? hello.version : stored.version, ctx.settings.gateway_min_version).kind === "incompatible";
}
