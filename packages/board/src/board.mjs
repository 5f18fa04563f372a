// The command of the published package. Without arguments it starts the service. All arguments but `start` and `service` go to the
// command line.
import module from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { watchShell } from "../../../scripts/watch-shell.mjs";
import { NAME, OLDEST_NODE } from "../name.mjs";

/** Programs of the service that `service <program>` starts. */
const PROGRAMS = ["accounts-migrate", "doctor", "health", "jobs", "migrate"];

const root = import.meta.dirname;
const [first = "start", second, ...rest] = process.argv.slice(2);

requireNode();
if (first === "start") await startProgram("main", process.argv.slice(3));
else if (first === "service") {
  if (!PROGRAMS.includes(second)) end(`Name a program: ${NAME} service ${PROGRAMS.join(" | ")}`, 2);
  await startProgram(second, rest);
} else await import(pathToFileURL(path.join(root, "cli/board.js")).href);

async function startProgram(program, args) {
  watchShell();
  hideWarningOfSqlite();
  // If the package's folder is not writable, nothing is cached and every start compiles the code again.
  module.enableCompileCache(path.join(root, "compiled"));
  const file = path.join(root, "service", `${program}.mjs`);
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
}

/** Hides Node 22's warning that SQLite is experimental, because the service uses SQLite only to lock its folder. */
function hideWarningOfSqlite() {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning, ...args) =>
    String(warning).startsWith("SQLite is an experimental") ? undefined : emitWarning(warning, ...args);
}

function requireNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  if (major > oldest || (major === oldest && minor >= oldestMinor)) return;
  end(
    `${NAME} runs on Node ${OLDEST_NODE.join(".")} or newer, and this is Node ${process.versions.node}. See https://nodejs.org.`,
    1,
  );
}

function end(message, code) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
