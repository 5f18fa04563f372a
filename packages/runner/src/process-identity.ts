import { readFileSync } from "node:fs";

/** A process that can be recognized later, although the system may have given its number to another one. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in ticks of the system's clock; null where the system does not tell. */
  started: string | null;
}

export const identifyProcess = (pid: number): ProcessIdentity => ({ pid, started: readStart(pid) });

export function isSameProcessAlive({ pid, started }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" && started === null;
  }
  const now = readStart(pid);
  return started === null || now === null || started === now;
}

/** Reads the start of a process from /proc, which only Linux has. A zombie counts as ended. */
function readStart(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program is in parentheses and may contain blanks. The state follows it, and the start is 19 words later.
    const words = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return words[0] === "Z" ? "ended" : words[19]!;
  } catch {
    return null;
  }
}
