import { statfsSync } from "node:fs";
import { parseArgs } from "node:util";
import { DiskFullError } from "@board/core/db/disk-guard";
import { DatabaseConnectError } from "@board/core/db/pool";
import { errorText } from "@board/core/values/log";
import { SettingsError } from "@board/core/config/settings";
import { asInstalled } from "./command.ts";
import { FolderInUseError } from "./folder-lock.ts";

export const printLine = (line = ""): boolean => process.stdout.write(`${line}\n`);

/** Ends the process with one line on standard error. A stack trace would not help an operator. */
export function exitWithError(message: string, code = 1): never {
  process.stderr.write(`${asInstalled(message)}\n`);
  process.exit(code);
}

type StopRequest = "SIGINT" | "SIGTERM" | "disconnect";

/**
 * Calls `stop` at Ctrl-C, at SIGTERM, and when the launcher of `npm start` was killed, because its channel to this process
 * closes.
 */
export function onStopRequest(stop: (request: StopRequest) => void): void {
  for (const event of ["SIGINT", "SIGTERM", "disconnect"] as const) process.on(event, () => stop(event));
  // The channel must not keep the process alive.
  process.channel?.unref();
}

/** Prints the help of a program that takes no arguments, if it is requested. Other arguments end the program. */
export function answerHelp(command: string, help: string): void {
  try {
    if (!parseArgs({ options: { help: { type: "boolean", short: "h" } } }).values.help) return;
  } catch (error) {
    exitWithError(`${errorText(error)} Try npm ${command} -- --help`, 2);
  }
  printLine(asInstalled(help));
  process.exit(0);
}

/** Explains why the service did not start and, if it is known, what to do. */
export function toStartError(error: unknown, data_dir: string): string {
  if (error instanceof SettingsError || error instanceof FolderInUseError || error instanceof DiskFullError) return error.message;
  if (error instanceof DatabaseConnectError) return toDatabaseError(error);
  if (isDiskFull(data_dir)) return `The disk of ${data_dir} is full. Free space on it, then start the service again.`;
  return toSystemError(error) ?? `The service cannot start: ${errorText(error)}`;
}

function toDatabaseError(error: DatabaseConnectError): string {
  const remedy = "Check that it runs, and the host, port, user, password and name in DATABASE_URL.";
  return `The database does not answer: ${errorText(error)}. ${remedy}`;
}

/** Explains an error of a system call, if its cause is known. Node puts the call into `syscall`, with the file or address. */
function toSystemError(error: unknown): string | null {
  const {
    code,
    syscall,
    path: file,
    address,
    port,
  } = (error ?? {}) as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === "listen" || syscall === "getaddrinfo") {
    if (code === "EADDRINUSE") return `Port ${port} is used by another process. Set PORT to a free port, or to 0 for any.`;
    if (code === "EACCES") return `This user may not listen at port ${port}. Set PORT to a port above 1023.`;
    return `This machine has no address ${address ?? "of that name"} (${code}). Set HOST to one of its addresses, or to 0.0.0.0 for all.`;
  }
  if (!file) return null;
  if (["EACCES", "EPERM", "EROFS"].includes(code ?? ""))
    return `This user may not write ${file} (${code}). Give it the right to, or set DATA_DIR to another folder.`;
  if (code === "ENOTDIR" || code === "EEXIST")
    return `${file} is in the way of a folder. Remove it, or set DATA_DIR to another folder.`;
  return null;
}

const MIN_FREE_BYTES = 1_048_576;

/** Returns whether the disk is full. The disk itself is checked, because the embedded database reports a full disk in many ways. */
function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < MIN_FREE_BYTES;
  } catch {
    return false;
  }
}
