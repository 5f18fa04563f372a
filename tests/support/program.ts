/** Programs of the service as an operator starts them: processes of their own, with an environment of their own. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inject, vi } from "vitest";

const SOURCES = path.resolve(import.meta.dirname, "../../packages/local/src");
/** A start makes a database; on a busy machine that takes its time. */
const PATIENCE_MS = 45_000;

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Program {
  stdout: string;
  stderr: string;
  ended: Promise<Ending>;
  /** Waits for a text on standard output; returns the match. */
  says(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ending>;
}

const running = new Set<Program>();

/** Runs one of the programs of packages/local. Settings of the developer's own environment do not reach it. */
export function startProgram(
  name: "main" | "demo" | "jobs" | "doctor",
  environment: Record<string, string>,
  args: string[] = [],
): Program {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], TMPDIR: tmpdir(), NO_COLOR: "1", ...environment };
  const child = spawn(process.execPath, [path.join(SOURCES, `${name}.ts`), ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let over = false;
  const program: Program = {
    stdout: "",
    stderr: "",
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        over = true;
        running.delete(program);
        resolve({ code, signal });
      });
    }),
    says: (pattern) =>
      vi.waitUntil(
        () => {
          const match = pattern.exec(program.stdout);
          if (!match && over) throw new Error(`${name} ended without saying ${pattern}:\n${program.stdout}${program.stderr}`);
          return match;
        },
        { timeout: PATIENCE_MS, interval: 20 },
      ),
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return program.ended;
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (program.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (program.stderr += text));
  running.add(program);
  return program;
}

/** Runs a program to its end. */
export async function runProgram(...how: Parameters<typeof startProgram>): Promise<Pick<Program, "stdout" | "stderr"> & Ending> {
  const program = startProgram(...how);
  const ending = await program.ended;
  return { ...ending, stdout: program.stdout, stderr: program.stderr };
}

const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "board-program-"));
  folders.push(folder);
  return folder;
}

/** A data folder as an earlier start left it, with an empty database: a first start makes one, which takes seconds. */
export function dataFolder(): string {
  const folder = temporaryFolder();
  cpSync(inject("templateFolder"), path.join(folder, "database"), { recursive: true });
  return folder;
}

/** For the end of a test: nothing that it started or made stays. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...running].map((program) => program.stop("SIGKILL")));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
}
