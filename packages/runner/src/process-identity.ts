import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process that can be recognized later, although the system may have given its process id to another process. */
export interface ProcessIdentity {
  pid: number;
  /** When the process started, in the format of the system; null if the system does not report it. */
  started: string | null;
}

export const identifyProcess = (pid: number): ProcessIdentity => ({ pid, started: startOf(pid) });

export function isSameProcessAlive({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" && started === null;
  }
  const now = startOf(pid);
  return started === null || now === null || started === now;
}

/** The start of this process. It is cached, because it never changes, and reading it starts a program on some systems. */
let own: string | null | undefined;

function startOf(pid: number): string | null {
  if (pid !== process.pid) return readStart(pid);
  return (own ??= readStart(pid));
}

const ENDED = "ended";
const TIMEOUT_MS = 5_000;

/** Reads when a process started: from /proc on Linux, by PowerShell on Windows, and by ps elsewhere. A zombie counts as ended. */
export function readStart(pid: number, platform: NodeJS.Platform = process.platform): string | null {
  try {
    if (platform === "linux") return readProc(pid);
    if (platform === "win32")
      return ask("powershell.exe", ["-NoProfile", "-Command", `(Get-Process -Id ${pid}).StartTime.Ticks`]);
    // The output must not depend on the person's language and time zone.
    const line = ask("/bin/ps", ["-o", "stat=,lstart=", "-p", String(pid)], { LC_ALL: "C", TZ: "UTC" });
    const [state = "", ...start] = (line ?? "").split(/\s+/);
    return state.startsWith("Z") ? ENDED : start.join(" ") || null;
  } catch {
    return null;
  }
}

function readProc(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The program's name is in parentheses and may contain spaces. The word after it is the state, and the start is 19 words later.
  const words = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return words[0] === "Z" ? ENDED : words[19]!;
}

const ask = (program: string, args: string[], env?: Record<string, string>): string | null =>
  execFileSync(program, args, {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    windowsHide: true,
    stdio: "pipe",
    ...(env ? { env } : {}),
  }).trim() || null;
