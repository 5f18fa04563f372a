/** Starts the programs of the service as an operator does, as processes with a clean environment. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject, vi } from "vitest";
import { scratchFolder } from "./scratch-folder.ts";

const LAUNCHER = path.resolve(import.meta.dirname, "../../scripts/start.mjs");
/** Long, because a start may create a database, which is slow on a busy machine. */
const OUTPUT_TIMEOUT_MS = 45_000;

interface ExitStatus {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Program {
  stdout: string;
  stderr: string;
  exited: Promise<ExitStatus>;
  /** Waits for a text on standard output and returns the match. */
  waitForOutput(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Sends a signal and waits for the exit. */
  stop(signal?: NodeJS.Signals): Promise<ExitStatus>;
}

const running = new Set<Program>();

/** Starts a program of packages/local without the settings of the developer's environment. `node` is what runs `launcher`. */
export function startProgram(
  name: "main" | "demo" | "jobs" | "doctor" | "migrate" | "accounts-migrate",
  environment: Record<string, string>,
  args: string[] = [],
  node: readonly [string, ...string[]] = [process.execPath],
  launcher = LAUNCHER,
): Program {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], TMPDIR: tmpdir(), NO_COLOR: "1", ...environment };
  const [command, ...before] = node;
  const child = spawn(command, [...before, launcher, name, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let hasExited = false;
  const program: Program = {
    stdout: "",
    stderr: "",
    exited: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        hasExited = true;
        running.delete(program);
        resolve({ code, signal });
      });
    }),
    waitForOutput: (pattern) =>
      vi.waitUntil(
        () => {
          const match = pattern.exec(program.stdout);
          if (!match && hasExited)
            throw new Error(`${name} exited without printing ${pattern}:\n${program.stdout}${program.stderr}`);
          return match;
        },
        { timeout: OUTPUT_TIMEOUT_MS, interval: 20 },
      ),
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return program.exited;
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (program.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (program.stderr += text));
  running.add(program);
  return program;
}

/** Reads the generated token from the file that the service names when its output is not a terminal. */
export async function readToken(program: Pick<Program, "waitForOutput">): Promise<string> {
  const [, file] = await program.waitForOutput(/^ {2}token +in (.+)$/m);
  return readFileSync(file!, "utf8").trim();
}

/** Runs a program until it exits. */
export async function runProgram(
  ...how: Parameters<typeof startProgram>
): Promise<Pick<Program, "stdout" | "stderr"> & ExitStatus> {
  const program = startProgram(...how);
  const ending = await program.exited;
  return { ...ending, stdout: program.stdout, stderr: program.stderr };
}

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(scratchFolder, `board-program-${process.pid}-`));
  folders.push(folder);
  return folder;
}

/** Returns a data folder with an empty migrated database, since a first start needs seconds to create one. */
export function dataFolder(): string {
  const folder = temporaryFolder();
  cpSync(inject("templateFolder"), path.join(folder, "database"), { recursive: true });
  return folder;
}

/** Stops the programs and deletes the folders of a test. */
export async function cleanUpPrograms(): Promise<void> {
  await Promise.all([...running].map((program) => program.stop("SIGKILL")));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}
