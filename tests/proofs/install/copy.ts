/** Copies of the project, in which packages are installed as a user does. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../../..");
const folders: string[] = [];

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "board-install-"));
  folders.push(folder);
  return folder;
}

export const removeFolders = (): void => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
};

/** Copies the files of the project that Git knows or would add. `ignored` are names at the root. */
export function copyProject(target: string, ignored: readonly string[] = []): void {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
  for (const file of files.trim().split("\n"))
    if (!ignored.includes(file.split("/")[0]!)) cpSync(path.join(ROOT, file), path.join(target, file));
}

export const readProjectFile = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");

/** What npm needs to reach its registry from a machine behind a proxy. */
const NETWORK = ["NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "npm_config_registry"];

/** Runs a command line as the shell of a Dockerfile does. */
export function runShell(command: string, cwd: string): void {
  const env = Object.fromEntries(["PATH", "HOME", ...NETWORK].map((name) => [name, process.env[name]]));
  execFileSync("sh", ["-c", command], { cwd, stdio: "pipe", env });
}

export function sizeInMegabytes(folder: string): number {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const { size, isFile } = statOf(path.join(folder, name));
    if (isFile) bytes += size;
  }
  return Math.round(bytes / 1_000_000);
}

export const countFiles = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => statOf(path.join(folder, name)).isFile).length;

function statOf(file: string) {
  const stat = lstatSync(file);
  return { size: stat.size, isFile: stat.isFile() };
}

export interface RunningProgram {
  url: string;
  /** The seconds that the service needed until it was ready, as the service itself reports. */
  seconds: string;
  stderr: string;
  stop(): Promise<number | null>;
}

/** Starts the service. Root starts it as a user without rights, unless `asNobody` is false. */
export async function startIn(
  folder: string,
  command: readonly string[],
  environment: Record<string, string>,
  asNobody = process.getuid?.() === 0,
): Promise<RunningProgram> {
  const [program, ...args] = command;
  const child = spawn(program!, args, {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    ...(asNobody && { uid: NOBODY, gid: NOBODY }),
  });
  // This event comes only when every process that shares the output has ended, even if npm started it.
  const exited = once(child, "close");
  let output = "";
  const running: RunningProgram = {
    url: "",
    seconds: "",
    stderr: "",
    async stop() {
      child.kill("SIGTERM");
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
  child.stderr.on("data", (text) => (running.stderr += String(text)));
  running.url = await new Promise<string>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`The service did not start: ${output}${running.stderr}`)));
    child.stdout.on("data", (text) => {
      output += String(text);
      const [, url, seconds] = /ready at (\S+) \(([\d.]+) s\)/.exec(output) ?? [];
      if (!url) return;
      running.seconds = seconds!;
      resolve(url);
    });
  });
  return running;
}

export const NOBODY = 65_534;
