import { combineFiles, extractOwnContent, TOOLS_FILE, extractTools, type WorkspaceFile } from "./file-fallback.ts";
import { GatewayError } from "../wire/gateway-error.ts";
import { asRecord } from "../wire/frame.ts";
import { quoteKeyLines } from "../template/token-line.ts";
import type { Host } from "./open.ts";

/** Files that receive the content of files that the host refuses, in order of preference. */
const FALLBACK_FILES = ["AGENTS.md", "SOUL.md"];
const BOOTSTRAP = "BOOTSTRAP.md";
const REQUIRED_LEAD_FILES = ["AGENTS.md", "ROLES.md"];
const REQUIRED_REFUSED = "Gateway rejected required lead workspace files as unsupported";

interface WriteFilesResult {
  /** How many files were written to the host. */
  files_written: number;
  /** One warning for each file whose content is now in another file. */
  warnings: string[];
  /** Set when a host below the minimum version refuses a file that a lead needs. All other files are written. */
  error: string | null;
}

const isUnsupportedFile = (error: unknown): boolean => error instanceof GatewayError && /unsupported file/i.test(error.message);

/** Lists the names of the files that exist on the host, including empty files. */
export async function listFiles(host: Host, agent_id: string): Promise<ReadonlySet<string>> {
  const payload = await host.call("agents.files.list", { agentId: agent_id });
  const listed = Array.isArray(payload) ? payload : asRecord(payload)?.files;
  const names = (Array.isArray(listed) ? listed : []).flatMap((row: unknown) => {
    const { name, path, missing } = asRecord(row) ?? { name: row };
    const file_name = typeof name === "string" ? name : typeof path === "string" ? path.split(/[\\/]/).at(-1)! : "";
    return file_name === "" || missing === true ? [] : [file_name];
  });
  return new Set(names);
}

/** Reads a file. Returns null when it does not exist. Rejects with a GatewayError, including when the file is not supported. */
export async function readFile(host: Host, agent_id: string, name: string): Promise<string | null> {
  const payload = await host.call("agents.files.get", { agentId: agent_id, name }, { step: `reading ${name}` });
  if (typeof payload === "string") return payload;
  const { content, missing } = asRecord(asRecord(payload)?.file) ?? asRecord(payload) ?? {};
  return typeof content === "string" && missing !== true ? content : null;
}

/** Reads a file like `readFile`, but returns undefined for a file that the host does not support. */
async function findFile(host: Host, agent_id: string, name: string): Promise<string | null | undefined> {
  try {
    return await readFile(host, agent_id, name);
  } catch (error) {
    if (isUnsupportedFile(error)) return undefined;
    throw error;
  }
}

/** Finds the fallback file of this host and its text. Returns null when the host supports no fallback file. */
async function findFallback(host: Host, agent_id: string): Promise<{ name: string; text: string | null } | null> {
  for (const name of FALLBACK_FILES) {
    const text = await findFile(host, agent_id, name);
    if (text !== undefined) return { name, text };
  }
  return null;
}

/** Reads the token from the host's TOOLS.md, or from the fallback file that contains TOOLS.md. Null when there is no token. */
export async function readHostToken(
  host: Host,
  agent_id: string,
  parse: (text: string) => string | null,
): Promise<string | null> {
  const tools = await findFile(host, agent_id, TOOLS_FILE);
  const text = tools === undefined ? extractTools((await findFallback(host, agent_id))?.text ?? "") : tools;
  return text === null ? null : parse(text);
}

/** Sends an update that changes nothing, so that the host processes the workspace now instead of before the agent's next run. */
async function triggerWorkspaceSetup(host: Host, agent_id: string): Promise<void> {
  const { workspace } = asRecord(await host.call("agents.files.list", { agentId: agent_id })) ?? {};
  if (typeof workspace === "string")
    await host.withConfigLock(() => host.call("agents.update", { agentId: agent_id, workspace }));
}

/**
 * Writes files: TOOLS.md alone and first, then the others concurrently. Files that the host refuses go into a fallback file
 * (docs/reference/gateways.md#workspace-files). Blank files are not written. `onToolsWritten` is called once the host has
 * TOOLS.md, before anything else is written. Rejects with a GatewayError.
 */
export async function writeFiles(
  host: Host,
  agent: { id: string; is_lead: boolean },
  files: readonly WorkspaceFile[],
  { below_minimum, onToolsWritten }: { below_minimum: boolean; onToolsWritten?: () => Promise<void> },
): Promise<WriteFilesResult> {
  const contents = new Map(files.filter(({ content }) => content.trim() !== "").map(toSafeEntry));
  const writer = createFileWriter(host, agent.id, contents);
  const tools = await writeToolsFirst(writer, onToolsWritten);
  await writeRemaining(writer, tools.kept_in);

  const { written, refused } = writer;
  const missing_required = below_minimum && agent.is_lead ? REQUIRED_LEAD_FILES.filter((name) => refused.has(name)) : [];
  const moved_names = [...contents.keys()].filter((name) => refused.has(name) && !missing_required.includes(name));
  const others = moved_names.filter((name) => name !== TOOLS_FILE).map((name) => ({ name, content: contents.get(name)! }));
  const is_fallback_changed = others.length > 0 || (tools.kept_in !== null && contents.has(tools.kept_in));
  const fallback_name = is_fallback_changed ? await writeFallback(writer, tools.embedded, others) : tools.written_to;
  return {
    files_written: written.size,
    warnings: moved_names.map((name) => `The host does not support ${name}; its content is in ${fallback_name}.`),
    error: missing_required.length > 0 ? REQUIRED_REFUSED : null,
  };
}

/** Quotes lines that look like a token line, except in TOOLS.md, because hosts may store all files in one file. */
const toSafeEntry = ({ name, content }: WorkspaceFile) => [name, name === TOOLS_FILE ? content : quoteKeyLines(content)] as const;

/** The files to write to one agent's workspace, and which of them were written or refused so far. */
interface FileWriter {
  readonly host: Host;
  readonly agent_id: string;
  readonly contents: ReadonlyMap<string, string>;
  readonly written: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
  /** Returns false when the host does not support the file. */
  write(name: string, content: string): Promise<boolean>;
}

function createFileWriter(host: Host, agent_id: string, contents: ReadonlyMap<string, string>): FileWriter {
  const written = new Set<string>();
  const refused = new Set<string>();
  return {
    host,
    agent_id,
    contents,
    written,
    refused,
    async write(name, content) {
      try {
        await host.call("agents.files.set", { agentId: agent_id, name, content }, { step: `writing ${name}` });
      } catch (error) {
        if (!isUnsupportedFile(error)) throw error;
        refused.add(name);
        return false;
      }
      written.add(name);
      return true;
    },
  };
}

/** How the host stores TOOLS.md. */
interface ToolsPlacement {
  /** Its content if a fallback file must contain it, else null. */
  embedded: string | null;
  /** The fallback file that was just written with TOOLS.md in it. */
  written_to: string | null;
  /** The fallback file that already contained TOOLS.md. It must only be written together with TOOLS.md. */
  kept_in: string | null;
}

/** Writes TOOLS.md if it is one of the files, else finds out whether a fallback file contains it. */
async function writeToolsFirst(writer: FileWriter, onToolsWritten?: () => Promise<void>): Promise<ToolsPlacement> {
  const content = writer.contents.get(TOOLS_FILE);
  if (content === undefined) {
    const fallback = await findFallback(writer.host, writer.agent_id);
    const embedded = extractTools(fallback?.text ?? "");
    return { embedded, written_to: null, kept_in: embedded === null ? null : fallback!.name };
  }
  const is_supported = await writer.write(TOOLS_FILE, content);
  const written_to = is_supported ? null : await writeFallback(writer, content, []);
  await onToolsWritten?.();
  return { embedded: is_supported ? null : content, written_to, kept_in: null };
}

/** Writes the other files concurrently, except `skipped_name`. On a host that clears BOOTSTRAP.md, that file is written last. */
async function writeRemaining(writer: FileWriter, skipped_name: string | null): Promise<void> {
  const { host, contents, written, refused } = writer;
  const bootstrap = host.dialect.clears_bootstrap ? contents.get(BOOTSTRAP) : undefined;
  const is_remaining = (name: string) =>
    !written.has(name) && !refused.has(name) && name !== skipped_name && !(name === BOOTSTRAP && bootstrap !== undefined);
  const remaining = [...contents].filter(([name]) => is_remaining(name));
  const results = await Promise.allSettled(remaining.map(([name, content]) => writer.write(name, content)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  if (bootstrap === undefined) return;
  await triggerWorkspaceSetup(host, writer.agent_id);
  await writer.write(BOOTSTRAP, bootstrap);
}

/** Writes the fallback file with its own content, which is read from the host if it is not given. Returns its name. */
async function writeFallback(writer: FileWriter, tools: string | null, others: readonly WorkspaceFile[]): Promise<string> {
  const { host, agent_id, contents, refused } = writer;
  for (const name of FALLBACK_FILES.filter((file) => !refused.has(file))) {
    const content = contents.get(name) ?? extractOwnContent({ name, content: (await findFile(host, agent_id, name)) ?? "" });
    if (await writer.write(name, combineFiles({ name, content }, tools, others))) return name;
  }
  throw new GatewayError(`The host supports neither ${FALLBACK_FILES.join(" nor ")}.`, { retryable: false });
}
