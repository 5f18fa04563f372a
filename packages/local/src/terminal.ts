import { statfsSync } from "node:fs";
import { DiskFullError } from "@board/core/db/disk-guard";
import { errorText } from "@board/core/log";
import { SettingsError } from "@board/core/settings";
import { FolderInUseError } from "./folder-lock.ts";

export const printLine = (line = ""): boolean => process.stdout.write(`${line}\n`);

/** Ends the process with one line on standard error. A stack trace would not help an operator. */
export function exitWithError(message: string, code = 1): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

/** Explains in one line why the service did not start, and what to do if that is known. */
export function toStartError(error: unknown, data_dir: string): string {
  if (error instanceof SettingsError || error instanceof FolderInUseError || error instanceof DiskFullError) return error.message;
  const { code, port } = (error ?? {}) as { code?: unknown; port?: number };
  if (code === "EADDRINUSE") return `Port ${port} is used by another process. Set PORT to a free port, or to 0 for any.`;
  if (isDiskFull(data_dir)) return `The disk of ${data_dir} is full. Free space on it, then start the service again.`;
  return `The service cannot start: ${errorText(error)}`;
}

const MIN_FREE_BYTES = 1_048_576;

/** The embedded database reports a full disk in many ways, some without a cause, so the disk itself is asked. */
function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < MIN_FREE_BYTES;
  } catch {
    return false;
  }
}
