import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Log } from "@board/core/values/log";

const PACKAGE = path.dirname(fileURLToPath(import.meta.resolve("@board/console/package.json")));
const BUILT = path.join(PACKAGE, "dist");

/** Reads a file of the built console. The caller has checked the name. */
export const readConsoleFile = (name: string): Promise<Uint8Array> => readFile(path.join(BUILT, name));

/** When an installation ran no scripts, builds the console in the background. Returns a function that stops the build. */
export function buildConsoleIfMissing(log: Log): () => void {
  if (existsSync(path.join(BUILT, "index.html"))) return () => {};
  log.info("console.build", "The console is built in the background, which takes a few seconds");
  const build = spawn(process.execPath, [path.join(PACKAGE, "build.mjs")], { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  build.stderr.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-2_000)));
  build.once("error", (error) => log.error("console.build_failed", error.message));
  build.once("exit", (code, signal) => {
    if (signal === null && code !== 0) log.error("console.build_failed", `The console could not be built: ${output.trim()}`);
  });
  return () => void build.kill();
}
