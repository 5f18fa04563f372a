import { randomBytes, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findMode, writeMark } from "./folder-mode.ts";

/** The secrets that a local server generates at its first start. */
const SECRET_GENERATORS = {
  LOCAL_AUTH_TOKEN: () => randomBytes(48).toString("base64url"),
  ENCRYPTION_KEY: () => randomBytes(32).toString("base64"),
  TOKEN_PEPPER: () => randomBytes(32).toString("base64"),
} as const;

const OWNER_ONLY = 0o600;

/**
 * Returns the environment with AUTH_MODE and missing secrets added. They are read from DATA_DIR, where the first start generates
 * them (secrets with mode 0600). Environment variables take precedence.
 */
export function withGeneratedSecrets(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folder = dataFolder(given);
  const { mode, by } = findMode(given, folder);
  // The mark is written before anything else, because a folder with data and without a mark counts as old.
  if (by === "new folder") writeMark(folder, "accounts");
  const environment = { ...given, AUTH_MODE: mode };
  const secrets = missingSecrets(environment).map(({ name, generate, file }) => [name, readOrCreate(file, generate)]);
  return { ...environment, ...Object.fromEntries(secrets) };
}

/**
 * Does the same as `withGeneratedSecrets` without creating files. Secrets without a file are listed in `missing` and get temporary
 * values.
 */
export function findSecrets(given: NodeJS.ProcessEnv): { filled: NodeJS.ProcessEnv; missing: string[] } {
  const environment = { ...given, AUTH_MODE: findMode(given, dataFolder(given)).mode };
  const secrets = missingSecrets(environment).map(({ name, generate, file }) => ({ name, generate, value: readIfExists(file) }));
  return {
    filled: {
      ...environment,
      ...Object.fromEntries(secrets.map(({ name, generate, value }) => [name, value ?? generate()])),
    },
    missing: secrets.filter(({ value }) => value === null).map(({ name }) => name),
  };
}

/**
 * Returns the file with the link that signs in as the owner. It is used when the output of the start is not shown on a terminal.
 */
export const ownerLinkFile = (environment: NodeJS.ProcessEnv): string =>
  path.join(dataFolder(environment), "secrets", "owner_link");

/** Stores the link of this start, and removes the link of an earlier start. */
export function storeOwnerLink(environment: NodeJS.ProcessEnv, link: string | null): void {
  const file = ownerLinkFile(environment);
  rmSync(file, { force: true });
  if (link === null) return;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${link}\n`, { mode: OWNER_ONLY });
}

/** Returns the folder that contains the embedded database and the secrets. */
export const dataFolder = (environment: NodeJS.ProcessEnv): string => path.resolve(environment["DATA_DIR"]?.trim() || "./.data");

function missingSecrets(environment: NodeJS.ProcessEnv) {
  const folder = dataFolder(environment);
  const isOidc = environment["AUTH_MODE"]?.trim() === "oidc";
  return Object.entries(SECRET_GENERATORS)
    .filter(([name]) => !environment[name]?.trim() && !(name === "LOCAL_AUTH_TOKEN" && isOidc))
    .map(([name, generate]) => ({ name, generate, file: path.join(folder, "secrets", name.toLowerCase()) }));
}

function readIfExists(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

function readOrCreate(file: string, generate: () => string): string {
  const existing = readIfExists(file);
  if (existing !== null) return existing;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  // The secret is written to a draft that is then linked, so that a killed process cannot leave an empty secret behind. Processes in
  // different containers may have the same id, so the name of the draft is random.
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${generate()}\n`, { mode: OWNER_ONLY });
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another process has created the secret concurrently. Its file is used.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(file, "utf8").trim();
}
