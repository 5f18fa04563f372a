/** Acts as an agent does with its files: it extracts the commands from them and runs them in its workspace. */
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { combineFiles } from "@board/openclaw/host/file-fallback";
import type { FileName } from "@board/openclaw/template/files";
import { temporaryFolder } from "../support/program.ts";

/** Agents' hosts have these programs, but a machine with only Node and npm may not. */
export const hasTools = spawnSync("sh", ["-c", "command -v curl && command -v jq"]).status === 0;

export const shellBlocksOf = (content: string): string[] =>
  [...content.matchAll(/^~~~sh\n([^]*?)\n~~~$/gm)].map((match) => match[1]!);

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command with sh as an agent's host does: in the workspace, with only PATH and HOME in its environment. */
export function runCommand(workspace: string, command: string): Promise<CommandResult> {
  const env = { PATH: process.env["PATH"], HOME: workspace };
  return new Promise((resolve) => {
    execFile("sh", ["-c", command], { cwd: workspace, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

type Files = Partial<Record<FileName, string>>;

/** Creates a workspace with these files. */
export function createWorkspace(files: Files): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content);
  return folder;
}

/** Returns the files as they are on a host that refuses some of them: AGENTS.md contains their texts, TOOLS.md first. */
export function filesOnRestrictedHost(files: Files, refused: FileName[]): Files {
  const fileOf = (name: FileName) => ({ name, content: files[name] ?? "" });
  const kept = Object.fromEntries(Object.entries(files).filter(([name]) => !refused.includes(name as FileName)));
  const others = refused.filter((name) => name !== "TOOLS.md" && files[name]).map(fileOf);
  return { ...kept, "AGENTS.md": combineFiles(fileOf("AGENTS.md"), fileOf("TOOLS.md").content, others) };
}

export interface JqCall {
  flags: string[];
  program: string;
}

/** Finds the jq programs of a command, with their flags. If a program is in a shell variable, returns its value. */
export function jqCallsOf(command: string): JqCall[] {
  const variables = new Map([...command.matchAll(/^(\w+)='([^']*)'$/gm)].map((match) => [match[1]!, match[2]!]));
  const value = /(?:"[^"]*"|'[^']*'|[^\s'"]+)/.source;
  const call = new RegExp(`(?<![\\w-])jq ((?:-[a-z]+ |--arg \\w+ ${value} )*)('[^']*'|"\\$\\w+")`, "g");
  return [...command.matchAll(call)].map(([, options = "", quoted = ""]) => ({
    flags: (options.match(new RegExp(value, "g")) ?? []).map(unquoted),
    program: quoted.startsWith("'") ? unquoted(quoted) : variables.get(quoted.slice(2, -1))!,
  }));
}

const unquoted = (text: string) => text.replace(/^(["'])(.*)\1$/s, "$2");

/** Runs a program with jq compiled to WebAssembly, so that the machine needs no jq. Throws the error text of jq. */
export async function runJq({ flags, program }: JqCall, input: object): Promise<string> {
  const jq = await jqModule;
  return jq.raw(JSON.stringify(input), program, flags) ?? "";
}

// The module exports a promise, which a static import would await while this file loads.
const jqModule = createRequire(import.meta.url)("jq-web") as Promise<{
  /** Undefined when the program has no output. */
  raw(input: string, program: string, flags: string[]): string | undefined;
}>;
