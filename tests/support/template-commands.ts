/** What an agent does with its files: it finds the commands in them and runs them in its workspace. */
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { carry } from "@board/core/gateway/carrier";
import type { FileName } from "@board/core/template/files";
import { createAdaptorServer } from "@hono/node-server";
import { temporaryFolder } from "./program.ts";

/** Agents' hosts have these; a machine with Node and npm alone may not. */
export const hasTools = spawnSync("sh", ["-c", "command -v curl && command -v jq"]).status === 0;

export const blocksOf = (content: string): string[] => [...content.matchAll(/^~~~sh\n([^]*?)\n~~~$/gm)].map((match) => match[1]!);

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command with sh, as an agent's host does: in the workspace, with nothing in the environment that it knows of. */
export function run(workspace: string, command: string): Promise<Ran> {
  const env = { PATH: process.env["PATH"], HOME: workspace };
  return new Promise((resolve) => {
    execFile("sh", ["-c", command], { cwd: workspace, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

type Files = Partial<Record<FileName, string>>;

/** A workspace with these files. */
export function workspaceOf(files: Files): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(folder, name), content);
  return folder;
}

/** The same on a host that refuses some files: AGENTS.md holds their texts, TOOLS.md first. */
export function carriedBy(files: Files, refused: FileName[]): Files {
  const fileOf = (name: FileName) => ({ name, content: files[name] ?? "" });
  const kept = Object.fromEntries(Object.entries(files).filter(([name]) => !refused.includes(name as FileName)));
  const others = refused.filter((name) => name !== "TOOLS.md" && files[name]).map(fileOf);
  return { ...kept, "AGENTS.md": carry(fileOf("AGENTS.md"), fileOf("TOOLS.md").content, others) };
}

export interface Jq {
  flags: string[];
  program: string;
}

/** The jq programs of a command, with their flags; one that stands in a variable of the shell is looked up. */
export function programsOf(command: string): Jq[] {
  const variables = new Map([...command.matchAll(/^(\w+)='([^']*)'$/gm)].map((match) => [match[1]!, match[2]!]));
  const value = /(?:"[^"]*"|'[^']*'|[^\s'"]+)/.source;
  const call = new RegExp(`(?<![\\w-])jq ((?:-[a-z]+ |--arg \\w+ ${value} )*)('[^']*'|"\\$\\w+")`, "g");
  return [...command.matchAll(call)].map(([, options = "", quoted = ""]) => ({
    flags: (options.match(new RegExp(value, "g")) ?? []).map(unquoted),
    program: quoted.startsWith("'") ? unquoted(quoted) : variables.get(quoted.slice(2, -1))!,
  }));
}

const unquoted = (text: string) => text.replace(/^(["'])(.*)\1$/s, "$2");

/** Runs a program with jq itself, compiled to WebAssembly: it needs nothing on the machine. Throws what jq says. */
export async function runJq({ flags, program }: Jq, input: object): Promise<string> {
  const jq = await webAssembly;
  return jq.raw(JSON.stringify(input), program, flags) ?? "";
}

// A module that is a promise: as an import it would be waited for in the wrong place.
const webAssembly = createRequire(import.meta.url)("jq-web") as Promise<{
  /** Undefined when the program gives nothing. */
  raw(input: string, program: string, flags: string[]): string | undefined;
}>;

/** Serves an app on loopback until it is closed. */
export async function serve(
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createAdaptorServer({ fetch }) as Server;
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
