// Starts a program of packages/local: `node scripts/start.mjs main`. It runs from a bundle, which is built first if there is no
// bundle of the current sources. If the build fails, it runs from source.
import { spawn } from "node:child_process";
import module from "node:module";
import { constants } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, findBundled } from "./bundle.mjs";
import { isCurrent, nodeFolder, root } from "./node-folder.mjs";
import { watchShell } from "./watch-shell.mjs";

const [program, ...args] = process.argv.slice(2);
const node = path.join(nodeFolder(), process.platform === "win32" ? "node.exe" : "node");
const file = await findProgram();
const cache = path.join(root, "dist/local/compiled");

watchShell();
if (isCurrent()) {
  module.enableCompileCache(cache);
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
} else runIn(node);

async function findProgram() {
  const found = findBundled(program);
  if (found !== null) return found;
  try {
    process.stderr.write("Preparing the programs of this version, which is done once ...\n");
    await bundle();
    return findBundled(program);
  } catch (error) {
    const cause = String(error.message).split("\n")[0];
    process.stderr.write(`The programs cannot be bundled, so this one starts from source and takes longer: ${cause}\n`);
    return path.join(root, "packages/local/src", `${program}.ts`);
  }
}

/** Starts the program. When this process is killed, the channel closes and the program stops. */
function runIn(executable) {
  const env = { ...process.env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? cache };
  const child = spawn(executable, [file, ...args], { stdio: ["inherit", "inherit", "inherit", "ipc"], env });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`Cannot run ${executable}: ${error.message}`);
    process.exit(127);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
