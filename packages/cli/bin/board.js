#!/usr/bin/env node
// The command line in a clone of the repository. It runs dist and builds it first when it is missing or older than the sources.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const built = path.join(root, "dist/board.js");

/** Returns when the newest source was changed, in milliseconds. */
function lastChange(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts"));
  return Math.max(...files.map((name) => statSync(path.join(folder, name)).mtimeMs));
}

const sources = [path.join(root, "src"), path.join(root, "../client/src"), path.join(root, "../runner/src")];
if (!existsSync(built) || Math.max(...sources.map(lastChange)) > statSync(built).mtimeMs) {
  try {
    execFileSync(process.execPath, [path.join(root, "build.mjs")], { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  } catch (error) {
    process.stderr.write(`The command line cannot be built. Run npm ci first.\n${error.stderr ?? error.message}\n`);
    process.exit(1);
  }
}
await import(pathToFileURL(built).href);
