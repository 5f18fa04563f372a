import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SettingsError } from "@board/core/config/settings";

/** How people sign in to the service of a data folder while AUTH_MODE is not set. */
export type FolderMode = "accounts" | "local";

interface FoundMode {
  mode: string;
  /** What decided: AUTH_MODE, the folder's file `auth_mode` (its mark), LOCAL_AUTH_TOKEN, or whether the folder has data. */
  by: "setting" | "mark" | "token" | "new folder" | "old folder";
}

const markFile = (folder: string): string => path.join(folder, "auth_mode");
const MODES: readonly string[] = ["accounts", "local"] satisfies FolderMode[];

/**
 * Finds the mode. A folder from before accounts has no file `auth_mode`. Its users know the shared token, so it stays in local
 * mode.
 */
export function findMode(environment: NodeJS.ProcessEnv, folder: string): FoundMode {
  const setting = environment["AUTH_MODE"]?.trim();
  if (setting) return { mode: setting, by: "setting" };
  // The data is checked before the mark is read, because a concurrent first start writes the mark before its data.
  const isOld = hasData(folder);
  const mark = readMark(folder);
  if (mark !== null) return { mode: mark, by: "mark" };
  if (environment["LOCAL_AUTH_TOKEN"]?.trim()) return { mode: "local", by: "token" };
  return isOld ? { mode: "local", by: "old folder" } : { mode: "accounts", by: "new folder" };
}

/** Returns whether a service was started in the folder: each service stores a database or secrets there. */
const hasData = (folder: string): boolean => ["database", "secrets"].some((name) => existsSync(path.join(folder, name)));

export function readMark(folder: string): FolderMode | null {
  const text = readIfExists(markFile(folder));
  if (text !== null && !MODES.includes(text)) throw new SettingsError(`${markFile(folder)} must contain ${MODES.join(" or ")}.`);
  return text as FolderMode | null;
}

export function writeMark(folder: string, mode: FolderMode): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The file is renamed when it is complete, so that a killed process leaves no empty mark.
  const draft = `${markFile(folder)}.${randomUUID()}`;
  writeFileSync(draft, `${mode}\n`);
  renameSync(draft, markFile(folder));
}

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    // If the folder is a file (ENOTDIR), the code that writes to the folder reports the error.
    if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return null;
  }
}
