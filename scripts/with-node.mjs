// Runs a command on Node 24, the Lambda runtime's major, whatever Node the machine has. npm 10 does not link
// the `node` binary of an optional platform package, so the package is looked up by name instead.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import path from "node:path";

const REQUIRED_MAJOR = 24;
const root = path.resolve(import.meta.dirname, "..");

function nodeFolder() {
  if (Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR) return path.dirname(process.execPath);
  const platform = process.platform === "win32" ? "win" : process.platform;
  const names = [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`];
  const require = createRequire(import.meta.url);
  for (const name of names) {
    try {
      const folder = path.join(path.dirname(require.resolve(`${name}/package.json`)), "bin");
      if (existsSync(folder)) return folder;
    } catch {
      // This platform's package is not installed; the message below says what to do.
    }
  }
  console.error(
    `This project runs on Node ${REQUIRED_MAJOR} or newer. This is ${process.version}, and the package ${names[0]} is not installed: run npm ci, or install Node ${REQUIRED_MAJOR}.`,
  );
  process.exit(1);
}

const [command, ...args] = process.argv.slice(2);
const search = [nodeFolder(), path.join(root, "node_modules/.bin"), process.env.PATH].join(path.delimiter);
const child = spawn(command, args, {
  stdio: "inherit",
  shell: process.platform === "win32",
  env: { ...process.env, PATH: search },
});
// A terminal's Ctrl-C reaches the child by itself; a signal sent to this process alone does not.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Cannot run ${command}: ${error.message}`);
  process.exit(127);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
