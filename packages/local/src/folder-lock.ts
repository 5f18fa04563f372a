import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Thrown when another process uses the same folder. `owner` contains its process id if the id could be read. */
export class FolderInUseError extends Error {
  readonly owner: string;
  constructor(folder: string, owner: string) {
    super(`${folder} is in use by ${owner}. Stop that process first, or set another DATA_DIR or a DATABASE_URL.`);
    this.owner = owner;
  }
}

const SQLITE_BUSY = 5;

/**
 * Locks a folder for this process and returns the unlock function, because two processes on one embedded database lose data
 * silently. SQLite's lock ends with its process. A file with a process id is not enough, because ids are reused and differ between
 * containers.
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = path.join(folder, "lock.pid");
  const lock = new DatabaseSync(path.join(folder, "lock.db"));
  try {
    // With the journal in memory, a killed process leaves no file that needs recovery.
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw new FolderInUseError(folder, readOwner(owner));
    throw error;
  }
  writeFileSync(owner, String(process.pid));
  return () => lock.close();
}

function readOwner(file: string): string {
  try {
    return `process ${readFileSync(file, "utf8")}`;
  } catch {
    // The owner holds the lock, but has not written its process id yet.
    return "another process";
  }
}
