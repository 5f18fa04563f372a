/** Builds and packs the packages that are published, and installs them into an empty folder as a stranger does. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { temporaryFolder } from "./program.ts";

const root = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

/** The oldest Node that `engines` of the packages allow. */
export const OLDEST_NODE = "20.19.6";

/** Runs npm without the settings of this repository. */
const npm = (folder: string, ...args: string[]) =>
  run("npm", [...args, "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder, shell: process.platform === "win32" });

/** Installs the oldest supported Node from npm and returns the path of its program. It stays in `.cache` for the next run. */
export async function oldestNode(): Promise<string> {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const cache = path.join(root, ".cache");
  const folder = path.join(cache, `node-${OLDEST_NODE}`);
  const program = path.join(folder, "node_modules", name, "bin", platform === "win" ? "node.exe" : "node");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "package.json"), "{}");
    await npm(folder, "install", "--prefer-offline", `${name}@${OLDEST_NODE}`);
  }
  return program;
}

/** Packs a package and returns the archive. */
async function pack(source: string, destination: string): Promise<string> {
  const { stdout } = await npm(destination, "pack", source, "--silent", "--pack-destination", destination);
  return path.join(destination, stdout.trim().split("\n").at(-1)!);
}

/** Packs what `build` of a package of this repository makes, without touching its folder `dist`. */
async function packBuilt(name: "client" | "cli", destination: string): Promise<string> {
  const built = path.join(mkdtempSync(path.join(destination, `${name}-`)), "dist");
  await run(process.execPath, [path.join(root, "packages", name, "build.mjs"), built]);
  return pack(built, destination);
}

/** Installs the packed client into an empty folder. Its dependencies come packed too, so that no registry is needed. */
export async function installClient(): Promise<string> {
  const folder = temporaryFolder();
  const archives = temporaryFolder();
  const dependencies = ["openapi-fetch", "openapi-typescript-helpers"].map((name) => path.join(root, "node_modules", name));
  const packed = [await packBuilt("client", archives)];
  for (const dependency of dependencies) packed.push(await pack(dependency, archives));
  return install(folder, packed);
}

/** Installs the packed command line into an empty folder. */
export async function installCommandLine(): Promise<string> {
  return install(temporaryFolder(), [await packBuilt("cli", temporaryFolder())]);
}

async function install(folder: string, archives: string[]): Promise<string> {
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await npm(folder, "install", "--offline", ...archives);
  return folder;
}

/** Returns the code blocks of a language in a document of this repository. */
export const blocksOf = (file: string, language: string): string[] =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/^```(\w*)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , block]) => block!);
