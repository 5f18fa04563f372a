// Finds Node 24, the major version of the Lambda runtime, independent of the machine's Node. npm 10 does not link the `node` binary
// of an optional package, so the package is looked up by name.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const REQUIRED_MAJOR = 24;
const OLDEST = [20, 19];

export const root = path.resolve(import.meta.dirname ?? ".", "..");

/** Returns whether this process already runs on a Node that is new enough. */
export const isCurrent = () => Number(process.versions.node.split(".")[0]) >= REQUIRED_MAJOR;

/** Returns the folder with `node`, or ends the process with a line that says what to install. */
export function nodeFolder() {
  if (isCurrent()) return path.dirname(process.execPath);
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
  console.error(adviceFor(process));
  process.exit(1);
}

/** Returns what to install on a platform. npm provides Node only for Linux on x64 and arm64. */
export function adviceFor({ version, platform, arch }) {
  const [major, minor] = version.slice(1).split(".").map(Number);
  const fromNpm = platform === "linux" && (arch === "x64" || arch === "arm64");
  const isTooOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  const what = `This project runs on Node ${REQUIRED_MAJOR} or newer, and this is Node ${version} on ${platform} ${arch}.`;
  if (!fromNpm) return `${what} Install Node ${REQUIRED_MAJOR} from https://nodejs.org, then run npm ci again.`;
  if (isTooOld) return `${what} Install Node ${REQUIRED_MAJOR}, or ${OLDEST.join(".")} or newer, then run npm ci again.`;
  return `${what} The package node-${platform}-${arch} is not installed: run npm ci, or install Node ${REQUIRED_MAJOR}.`;
}
