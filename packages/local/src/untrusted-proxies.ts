import { appendFileSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

/** A file with the untrusted proxies of the last run. The doctor is another process and reads it. */
const fileIn = (folder: string) => path.join(folder, "untrusted_proxies");

/** The service works without the file, so failing to write it is not an error. */
function orElse<T>(fallback: T, work: () => T): T {
  try {
    return work();
  } catch {
    return fallback;
  }
}

export const recordUntrustedProxy = (folder: string, address: string): void =>
  orElse(undefined, () => appendFileSync(fileIn(folder), `${address}\n`, { mode: 0o600 }));

export const clearUntrustedProxies = (folder: string): void => orElse(undefined, () => rmSync(fileIn(folder), { force: true }));

export const listUntrustedProxies = (folder: string): string[] =>
  orElse([], () => readFileSync(fileIn(folder), "utf8").split("\n").filter(Boolean));
