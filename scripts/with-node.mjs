// Runs a command on Node 24, whatever Node the machine has.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { nodeFolder, root } from "./node-folder.mjs";

const [command, ...args] = process.argv.slice(2);
const search = [nodeFolder(), path.join(root, "node_modules/.bin"), process.env.PATH].join(path.delimiter);
const child = spawn(command, args, {
  stdio: "inherit",
  shell: process.platform === "win32",
  // A script of package.json cannot set a variable in the same way on every system.
  env: { SST_TELEMETRY_DISABLED: "1", ...process.env, PATH: search },
});
// A terminal's Ctrl-C reaches the child by itself; a signal sent to this process alone does not.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Cannot run ${command}: ${error.message}`);
  process.exit(127);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
