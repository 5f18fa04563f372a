import type { RequestPermissionRequest, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { realpathSync } from "node:fs";
import path from "node:path";
import type { ToolRequest } from "./policy.ts";

/** Folders of version control and of the board. A file in them can make the next git command run a program. */
const CONTROL_FOLDER = /(^|[\\/])\.(git|hg|svn|board)([\\/]|$)/i;

/** Returns whether the file is inside the folder, even when symbolic links are followed. */
export function isInside(folder: string, file: string): boolean {
  const root = toReal(folder);
  const relative = path.relative(root, toReal(path.resolve(folder, expandHome(file))));
  return !leavesFolder(relative) && !CONTROL_FOLDER.test(relative);
}

const leavesFolder = (relative: string) => relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);

/** Treats a path that begins with `~` as outside of the working folder, because programs replace `~` with the home folder. */
const expandHome = (file: string) => (file.startsWith("~") ? path.join(path.parse(process.cwd()).root, file) : file);

/** Returns the real path of a file. If the file does not exist yet, the path of its nearest existing parent folder is resolved. */
function toReal(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(toReal(parent), path.basename(file));
  }
}

/** Returns the files as a policy names them: relative paths with forward slashes inside the folder, full paths outside it. */
export const pathsOf = (folder: string, files: readonly string[]): string[] =>
  files.map((file) => {
    const real = toReal(path.resolve(folder, expandHome(file)));
    const relative = path.relative(toReal(folder), real);
    return (leavesFolder(relative) ? real : relative).replaceAll("\\", "/");
  });

const PATH_NAMES = ["path", "file_path", "filePath", "abs_path", "notebook_path", "absolute_path", "directory", "dir_path"];

/**
 * Returns what the agent asks permission for. Facts that the request leaves out are taken from earlier reports about the same tool
 * call.
 */
export function toToolRequest({ toolCall }: RequestPermissionRequest, known: ToolCallUpdate | undefined): ToolRequest {
  const input = toolCall.rawInput ?? known?.rawInput;
  const locations = toolCall.locations ?? known?.locations ?? [];
  const content = toolCall.content ?? known?.content ?? [];
  const diffs = content.flatMap((part) => (part.type === "diff" ? [part.path] : []));
  const named = PATH_NAMES.flatMap((name) => textsOf(property(input, name)));
  return {
    tool_kind: toolCall.kind ?? known?.kind ?? "other",
    title: toolCall.title ?? known?.title ?? toolCall.toolCallId,
    command: toCommand(property(input, "command") ?? property(input, "cmd")),
    paths: [...new Set([...locations.map((location) => location.path), ...diffs, ...named])],
  };
}

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const textsOf = (value: unknown): string[] => (typeof value === "string" && value !== "" ? [value] : []);

function toCommand(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || !value.every((word) => typeof word === "string")) return null;
  // Agents often start a shell with the command line as its last argument: bash -lc "git status".
  const [shell, flag, line] = value;
  const isShell = value.length === 3 && /(^|[\\/])(ba|z|da)?sh$/.test(shell!) && /^-\w*c$/.test(flag!);
  return isShell ? line! : value.join(" ");
}
