/** Runs the installed command line on the oldest supported Node. */
import { spawn } from "node:child_process";
import { existsSync, renameSync } from "node:fs";
import path from "node:path";
import { inject } from "vitest";
import { installCommandLine, oldestNode } from "./packages.ts";
import { temporaryFolder } from "./program.ts";

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** Standard output as JSON. */
  json(): any;
}

export interface CommandLine {
  /** The program, as a person finds it after the installation. */
  readonly program: string;
  readonly node: string;
  /** Creates a caller with a settings folder for itself. */
  caller(environment?: Record<string, string>): Caller;
}

export interface Caller {
  /** The folder of the settings. */
  readonly settings: string;
  run(args: string[], options?: RunOptions): Promise<CommandResult>;
}

interface RunOptions {
  input?: string;
  environment?: Record<string, string>;
  /** The folder in which the program runs, by default the working folder of the tests. */
  cwd?: string;
}

/** Installs the command line once per run of the tests, because packing and installing take longer than most tests of commands. */
async function installOnce(): Promise<string> {
  const shared = path.join(path.dirname(inject("templateFolder")), "command-line");
  if (existsSync(shared)) return shared;
  const folder = await installCommandLine();
  try {
    renameSync(folder, shared);
  } catch (error) {
    // Another worker was faster.
    if (!existsSync(shared)) throw error;
  }
  return shared;
}

/** Opens the installed command line. */
export async function openCommandLine(): Promise<CommandLine> {
  const [folder, node] = await Promise.all([installOnce(), oldestNode()]);
  const program = path.join(folder, "node_modules/@board/cli/board.js");
  return {
    program,
    node,
    caller(environment = {}) {
      const home = temporaryFolder();
      const base = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: home, ...environment };
      return {
        settings: path.join(home, "board"),
        run: (args, options = {}) => start(node, [program, ...args], { ...base, ...options.environment }, options),
      };
    },
  };
}

function start(program: string, args: string[], env: NodeJS.ProcessEnv, { input = "", cwd }: RunOptions): Promise<CommandResult> {
  const child = spawn(program, args, { env, stdio: "pipe", cwd });
  const result = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
  // The error is ignored, because a command that reads no input may end before the input is written.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ ...result, code, json: () => JSON.parse(result.stdout) }));
  });
}
