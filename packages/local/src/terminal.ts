import { errorText } from "@board/core/log";
import { SettingsError } from "@board/core/settings";
import { FolderInUse } from "./lock.ts";

export const say = (line = ""): boolean => process.stdout.write(`${line}\n`);

/** Ends the process with one line on standard error; a stack would tell an operator nothing. */
export function fail(message: string, code = 1): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

/** Why a service did not start, in one line that says what to do where we know it. */
export function whyNotStarted(error: unknown): string {
  if (error instanceof SettingsError || error instanceof FolderInUse) return error.message;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === "EADDRINUSE") return `Port ${port} is taken by another process. Set PORT to a free one, or to 0 for any.`;
  return `The service cannot start: ${errorText(error)}`;
}
