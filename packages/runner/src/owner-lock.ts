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
  const nonce = crypto.randomUUID();
  const own = JSON.stringify({ ...identifyProcess(process.pid), nonce });
  const release = () => {
    if (readText(file) === own) rmSync(file, { force: true });
  };
  // The lock file is created with its content. Another process would treat an empty file as the lock of a killed process.
  const written = `${file}.${nonce}`;
  writeFileSync(written, own, { mode: 0o600 });
  try {
    for (;;) {
      if (linkNew(written, file)) return { release };
      const found = readText(file);
      if (found === null) continue;
      if (isHeld(found)) return null;
      if (!removeExactly(file, found)) return null;
    }
  } finally {
    rmSync(written, { force: true });
  }
}

/** Creates a hard link to a file. Returns false if the name is taken. */
function linkNew(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** Returns whether a living process holds a lock. */
export const isOwned = (file: string): boolean => isHeld(readText(file) ?? "");

function isHeld(text: string): boolean {
  try {
    return isSameProcessAlive(JSON.parse(text) as ProcessIdentity);
  } catch {
    // The file is empty or incomplete if the machine lost power before the file was stored.
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
  // If the name is taken, a third process has the lock meanwhile.
  if (!isExpected) linkNew(aside, file);
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
