import { appendFileSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

/** Returns the file with the untrusted proxies of the last start. The doctor, which is another process, reads the file. */
const fileIn = (folder: string) => path.join(folder, "untrusted_proxies");

/** Returns the fallback if the work fails, because the service works without the file. */
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
