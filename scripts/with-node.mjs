// Runs a command on Node 24, independent of the machine's Node.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { nodeFolder, root } from "./node-folder.mjs";

const [command, ...args] = process.argv.slice(2);
const search = [nodeFolder(), path.join(root, "node_modules/.bin"), process.env.PATH].join(path.delimiter);
const child = spawn(command, args, {
  stdio: "inherit",
  shell: process.platform === "win32",
  // Set here, because a script of package.json cannot set a variable in the same way on every system.
  env: { SST_TELEMETRY_DISABLED: "1", ...process.env, PATH: search },
});
// A terminal sends Ctrl-C to the child too. A signal to this process alone must be passed on.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`Cannot run ${command}: ${error.message}`);
  process.exit(127);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
