import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/** The tested OpenClaw releases: the oldest supported release, a release with protocol 3 and a release with protocol 4. */
export const RELEASES = ["2026.2.9", "2026.2.26", "2026.9.6"] as const;
export type Release = (typeof RELEASES)[number];

export const hostFolder = (release: Release): string => path.join(import.meta.dirname, "hosts", release);

/**
 * Arguments of npm that install what a folder's own lock file lists, apart from this project. Peer and optional dependencies are
 * native code that no test needs.
 */
const INSTALL = ["ci", "--ignore-scripts", "--omit=peer", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"];

/** Installs missing releases one after the other. Each takes about 400 MB. */
export default async function install(): Promise<void> {
  for (const release of RELEASES) await installLocked(hostFolder(release), `host ${release}`);
}

/** Installs the packages of a folder's lock file once. */
export async function installLocked(folder: string, what: string): Promise<void> {
  const stamp = path.join(folder, "node_modules/.installed");
  const lock = readFileSync(path.join(folder, "package-lock.json"), "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  process.stdout.write(`Installing ${what}\n`);
  await npm(INSTALL, folder);
  writeFileSync(stamp, lock);
}

async function npm(args: string[], cwd: string): Promise<void> {
  const script = process.env["npm_execpath"];
  const [command, ...first] = script ? [process.execPath, script] : ["npm"];
  const child = spawn(command!, [...first, ...args], { cwd, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`npm ${args[0]} in ${cwd} exited with ${code}`);
}

/** Returns a Node that every release supports: the current Node, or the Node in this project's packages. */
export function nodeForHosts(): string {
  const [major, minor] = process.versions.node.split(".").map(Number) as [number, number];
  if ((major === 24 && minor >= 16) || (major === 26 && minor >= 1) || major > 26) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), "bin/node");
  } catch {
    throw new Error(`The hosts need Node 24.16. This is ${process.version}, and the package ${name} is not installed.`);
  }
}
