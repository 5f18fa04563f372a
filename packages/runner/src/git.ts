import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Switches off settings that make git start a program, because an agent could have written them into the repository. */
const SAFE = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"];
const MAX_OUTPUT = 32 * 1024 * 1024;
const TIMEOUT_MS = 300_000;

export class GitError extends Error {}

/** Runs git in a folder and returns its output. No shell reads the arguments. */
export async function git(folder: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await run("git", [...SAFE, ...args], { cwd: folder, maxBuffer: MAX_OUTPUT, timeout: TIMEOUT_MS });
    return stdout.replace(/\n$/, "");
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new GitError((stderr ?? "").trim().split("\n").at(-1) || message, { cause: error });
  }
}

/** Runs git like `git`, but returns null when it fails. */
export const tryGit = (folder: string, ...args: string[]): Promise<string | null> =>
  git(folder, ...args).catch((error: unknown) => {
    if (error instanceof GitError) return null;
    throw error;
  });
