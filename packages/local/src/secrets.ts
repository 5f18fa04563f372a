import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What a local server makes for itself on first start, and how. */
const GENERATED = {
  LOCAL_AUTH_TOKEN: () => randomBytes(48).toString("base64url"),
  ENCRYPTION_KEY: () => randomBytes(32).toString("base64"),
  TOKEN_PEPPER: () => randomBytes(32).toString("base64"),
} as const;

const OWNER_ONLY = 0o600;

/**
 * The environment with the secrets filled in that it lacks: read from DATA_DIR, made and kept there (mode 0600) the first
 * time. What the environment sets wins.
 */
export function withSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const made = lackingIn(environment).map(({ name, make, file }) => [name, readOrMake(file, make)]);
  return { ...environment, ...Object.fromEntries(made) };
}

/**
 * The same without making a file: what there is none of yet is `missing`, and filled in with something that is thrown away.
 */
export function findSecrets(environment: NodeJS.ProcessEnv): { filled: NodeJS.ProcessEnv; missing: string[] } {
  const found = lackingIn(environment).map(({ name, make, file }) => ({ name, make, value: readIfThere(file) }));
  return {
    filled: { ...environment, ...Object.fromEntries(found.map(({ name, make, value }) => [name, value ?? make()])) },
    missing: found.filter(({ value }) => value === null).map(({ name }) => name),
  };
}

function lackingIn(environment: NodeJS.ProcessEnv) {
  const folder = path.resolve(environment["DATA_DIR"]?.trim() || "./.data");
  const isOidc = environment["AUTH_MODE"]?.trim() === "oidc";
  return Object.entries(GENERATED)
    .filter(([name]) => !environment[name]?.trim() && !(name === "LOCAL_AUTH_TOKEN" && isOidc))
    .map(([name, make]) => ({ name, make, file: path.join(folder, "secrets", name.toLowerCase()) }));
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

function readOrMake(file: string, make: () => string): string {
  const known = readIfThere(file);
  if (known !== null) return known;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  // The file appears with its content or not at all: a process killed here would leave an empty secret for good.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${make()}\n`, { mode: OWNER_ONLY });
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another process made it in this moment; its file counts.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(file, "utf8").trim();
}
