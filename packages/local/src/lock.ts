import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Another process works on the same folder. `owner` is its number, when it could be read. */
export class FolderInUse extends Error {
  readonly owner: string;
  constructor(folder: string, owner: string) {
    super(
      `${folder} is in use by ${owner}. Stop that one first, or start this one with another DATA_DIR or with a DATABASE_URL.`,
    );
    this.owner = owner;
  }
}

const SQLITE_BUSY = 5;

/**
 * Takes a folder for this process alone; returns the function that gives it back. Two processes on one embedded database
 * lose data without a word. The lock is the operating system's, held through SQLite since Node has no call for it, and
 * ends with the process however that ends. A file with a process number was rejected: numbers are used again, differ
 * between containers on one volume, and two starts that find a dead owner both take over.
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const owner = path.join(folder, "lock.pid");
  const lock = new DatabaseSync(path.join(folder, "lock.db"));
  try {
    // In memory, the journal leaves no file behind that a killed process would have to recover from.
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) throw new FolderInUse(folder, ownerIn(owner));
    throw error;
  }
  writeFileSync(owner, String(process.pid));
  return () => lock.close();
}

function ownerIn(file: string): string {
  try {
    return `process ${readFileSync(file, "utf8")}`;
  } catch {
    // The owner took the lock in this moment and has not signed yet.
    return "another process";
  }
}
