import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { isSameProcessAlive, type ProcessIdentity } from "./process-identity.ts";
import { isShellScript, toShellCommand } from "./windows-script.ts";

export interface ProcessGroup {
  child: ChildProcessWithoutNullStreams;
  /** Resolves when the group's first process has ended and its output was read. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }>;
  /** Asks the group to end, and kills it after `grace_ms`. Resolves when none of its processes is left. */
  end(grace_ms: number): Promise<void>;
}

/** The output of a process that has exited is read for this long, if another process keeps it open. */
const LAST_OUTPUT_MS = 2_000;

/** Starts a program as the leader of its own process group, so that all processes that it starts can be ended with it. */
export function startProcessGroup(
  file: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): ProcessGroup {
  const isWindows = process.platform === "win32";
  const command = isShellScript(file) ? toShellCommand(file, args, env) : { file, args };
  // Windows has no process groups. There, `taskkill` ends the process and all processes that it started.
  const child = spawn(command.file, command.args, {
    cwd,
    env,
    stdio: "pipe",
    detached: !isWindows,
    windowsHide: true,
    windowsVerbatimArguments: command.file !== file,
  });
  // Writing to a process that has ended fails. The error is ignored, because the exit code says more about the cause.
  child.stdin.on("error", () => {});
  const exited = new Promise<Awaited<ProcessGroup["exited"]>>((resolve) => {
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  async function end(grace_ms: number): Promise<void> {
    const { pid } = child;
    if (pid === undefined) return;
    await endGroup(pid, grace_ms);
    child.stdout.destroy();
    child.stderr.destroy();
    await exited;
  }
  // A process that the program left behind may keep the output open, which would otherwise never end.
  child.once("exit", () => {
    const timer = setTimeout(() => void end(0), LAST_OUTPUT_MS);
    void exited.then(() => clearTimeout(timer));
  });
  return { child, exited, end };
}

const POLL_MS = 50;

/** Ends all processes of a group. */
export async function endGroup(pid: number, grace_ms: number): Promise<void> {
  if (process.platform === "win32") return void spawnSync("taskkill", ["/pid", String(pid), "/T", "/F"]);
  const deadline = performance.now() + grace_ms;
  signalGroup(pid, "SIGTERM");
  while (isGroupAlive(pid) && performance.now() < deadline) await pause(POLL_MS);
  signalGroup(pid, "SIGKILL");
}

/**
 * Ends a group that was left behind when its runner was killed. The start time of the leader is compared first, because the system
 * may have given its process id to another process.
 */
export async function endAbandonedGroup(leader: ProcessIdentity, grace_ms: number): Promise<void> {
  if (leader.started !== null && isSameProcessAlive(leader)) await endGroup(leader.pid, grace_ms);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has already ended.
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
