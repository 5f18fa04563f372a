import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { identifyProcess, isSameProcessAlive, type ProcessIdentity } from "./process-identity.ts";

export interface OwnerLock {
  release(): void;
}

/**
 * Locks a file or folder of this machine for this process. Returns null while another living process has the lock. The lock of a
 * killed process is taken over.
 */
export function takeOwnership(file: string): OwnerLock | null {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const own = JSON.stringify({ ...identifyProcess(process.pid), nonce: crypto.randomUUID() });
  const release = () => {
    if (readText(file) === own) rmSync(file, { force: true });
  };
  for (;;) {
    try {
      writeFileSync(file, own, { flag: "wx", mode: 0o600 });
      return { release };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const found = readText(file);
    if (found === null) continue;
    if (isHeld(found)) return null;
    if (!removeExactly(file, found)) return null;
  }
}

/** Returns whether a living process holds a lock. */
export const isOwned = (file: string): boolean => isHeld(readText(file) ?? "");

function isHeld(text: string): boolean {
  try {
    return isSameProcessAlive(JSON.parse(text) as ProcessIdentity);
  } catch {
    // The file is empty or incomplete if its process was killed while it wrote the file.
    return false;
  }
}

/** Removes a lock whose file has this text. If another process has replaced the lock meanwhile, the new lock is put back. */
function removeExactly(file: string, text: string): boolean {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return true;
  }
  const isExpected = readText(aside) === text;
  try {
    if (!isExpected) linkSync(aside, file);
  } catch {
    // A third process has taken the lock meanwhile.
  }
  rmSync(aside, { force: true });
  return isExpected;
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
