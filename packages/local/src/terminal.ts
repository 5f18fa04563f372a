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
export function toStartError(error: unknown): string {
  if (error instanceof SettingsError || error instanceof FolderInUseError || error instanceof DiskFullError) return error.message;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === "EADDRINUSE") return `Port ${port} is used by another process. Set PORT to a free port, or to 0 for any.`;
  return `The service cannot start: ${errorText(error)}`;
}
