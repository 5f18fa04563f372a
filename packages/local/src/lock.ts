import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import path from "node:path";

/** Another process works on the same folder. */
export class FolderInUse extends Error {}

/**
 * Takes a folder for this process alone; returns the function that gives it back. Two processes on one embedded database
 * lose data without a word. A lock whose process is gone (kill -9) is taken over.
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "lock");
  for (let attempt = 0; ; attempt++) {
    try {
      const handle = openSync(file, "wx");
      writeSync(handle, String(process.pid));
      closeSync(handle);
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const owner = Number(readIfThere(file));
    if ((owner !== process.pid && isRunning(owner)) || attempt > 2)
      throw new FolderInUse(
        `${folder} is in use by process ${owner}. Stop that one first, or start this one with another DATA_DIR or with a DATABASE_URL.`,
      );
    rmSync(file, { force: true });
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
