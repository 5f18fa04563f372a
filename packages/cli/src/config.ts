import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { UsageError } from "./failure.ts";
import { PROGRAM } from "./program.ts";

/** The caller to whom a token belongs. */
export type Identity = { type: "user" } | { type: "agent"; agent_id: string; board_id: string | null; is_board_lead: boolean };

/** A stored sign-in. Its token is sent only to the address for which it was stored. */
export interface Login {
  token: string;
  identity: Identity;
}

interface StoredConfig {
  /** URL of the service to which the last sign-in went. */
  url?: string;
  logins: Record<string, Login>;
  /** Leases of tasks that `board next` took, by task id. Later commands send the fence of the lease. */
  leases: Record<string, HeldLease>;
  /** Agents that `board run` made for this machine, by address, board and name. */
  runners: Record<string, { agent_id: string; token_file: string }>;
}

export interface HeldLease {
  url: string;
  agent_id: string;
  board_id: string;
  fence: number;
}

export interface Config extends StoredConfig {
  folder: string;
  save(): void;
}

/** Returns the folder of the settings: XDG_CONFIG_HOME or ~/.config, and %APPDATA% on Windows. */
export function configFolder(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const base = platform === "win32" ? environment["APPDATA"] : environment["XDG_CONFIG_HOME"];
  const home = environment["HOME"] || homedir();
  return path.join(base || path.join(home, platform === "win32" ? "AppData/Roaming" : ".config"), "board");
}

export const configFile = (folder: string): string => path.join(folder, "config.json");

export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const folder = configFolder(environment);
  const file = configFile(folder);
  const before = readStored(file);
  const config: Config = {
    ...before,
    logins: { ...before.logins },
    leases: { ...before.leases },
    runners: { ...before.runners },
    folder,
    save() {
      // Another command may have changed the file after this one read it, so only the changes of this command are written.
      const latest = readStored(file);
      const changed: StoredConfig = {
        ...latest,
        ...(config.url !== undefined && config.url !== before.url && { url: config.url }),
        logins: applyChanges(latest.logins, before.logins, config.logins),
        leases: applyChanges(latest.leases, before.leases, config.leases),
        runners: applyChanges(latest.runners, before.runners, config.runners),
      };
      writePrivateFile(file, `${JSON.stringify(changed, null, 2)}\n`);
    },
  };
  return config;
}

/** Applies to `latest` what differs between `before` and `after`. */
function applyChanges<T>(latest: Record<string, T>, before: Record<string, T>, after: Record<string, T>): Record<string, T> {
  const kept = Object.entries(latest).filter(([key]) => key in after || !(key in before));
  const set = Object.entries(after).filter(([key, value]) => value !== before[key]);
  return Object.fromEntries([...kept, ...set]);
}

function readStored(file: string): StoredConfig {
  return { logins: {}, leases: {}, runners: {}, ...readFile(file) };
}

function readFile(file: string): Partial<StoredConfig> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  try {
    return JSON.parse(text) as Partial<StoredConfig>;
  } catch {
    throw new UsageError(`${file} is not valid JSON. Delete it and sign in again with "${PROGRAM} login".`);
  }
}

/** Replaces a file that only its owner may read. A reader never sees an incomplete file. */
export function writePrivateFile(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
    chmodSync(temporary, 0o600);
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Returns whether other users of the machine may read a file, or null if it does not exist. Windows has no permission bits for
 * this.
 */
export function isReadableByOthers(file: string): boolean | null {
  try {
    return process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0;
  } catch {
    return null;
  }
}
