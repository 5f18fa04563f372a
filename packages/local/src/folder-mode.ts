import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SettingsError } from "@board/core/config/settings";

/** How people sign in to the service of a data folder while AUTH_MODE is not set. */
export type FolderMode = "accounts" | "local";

export interface FoundMode {
  mode: string;
  /** What decided: AUTH_MODE, the mark in the folder, LOCAL_AUTH_TOKEN, or whether the folder has data. */
  by: "setting" | "mark" | "token" | "new folder" | "old folder";
}

const markFile = (folder: string): string => path.join(folder, "auth_mode");
const MODES: readonly string[] = ["accounts", "local"] satisfies FolderMode[];

/** Folders from before accounts have no mark, and their people know the shared token, so these folders go on in local mode. */
export function findMode(environment: NodeJS.ProcessEnv, folder: string): FoundMode {
  const setting = environment["AUTH_MODE"]?.trim();
  if (setting) return { mode: setting, by: "setting" };
  // Looked at before the mark, which a concurrent first start writes before its data.
  const isOld = hasData(folder);
  const mark = readMark(folder);
  if (mark !== null) return { mode: mark, by: "mark" };
  if (environment["LOCAL_AUTH_TOKEN"]?.trim()) return { mode: "local", by: "token" };
  return isOld ? { mode: "local", by: "old folder" } : { mode: "accounts", by: "new folder" };
}

/** What a service keeps in its folder. Without both, no service has been started there. */
const hasData = (folder: string): boolean => ["database", "secrets"].some((name) => existsSync(path.join(folder, name)));

export function readMark(folder: string): FolderMode | null {
  const text = readIfExists(markFile(folder));
  if (text !== null && !MODES.includes(text)) throw new SettingsError(`${markFile(folder)} must contain ${MODES.join(" or ")}.`);
  return text as FolderMode | null;
}

export function writeMark(folder: string, mode: FolderMode): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Renamed when it is complete, so that a killed process leaves no empty mark.
  const draft = `${markFile(folder)}.${process.pid}`;
  writeFileSync(draft, `${mode}\n`);
  renameSync(draft, markFile(folder));
}

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    // A file in place of the folder is reported by what writes to it.
    if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return null;
  }
}
