import { appendFileSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

/** The proxies that the last run met and TRUSTED_PROXIES did not list, for the doctor, which is another process. */
const fileIn = (folder: string) => path.join(folder, "untrusted_proxies");

/** The service works without the file, so a folder that it cannot write is no failure. */
function orElse<T>(fallback: T, work: () => T): T {
  try {
    return work();
  } catch {
    return fallback;
  }
}

export const noteProxy = (folder: string, address: string): void =>
  orElse(undefined, () => appendFileSync(fileIn(folder), `${address}\n`, { mode: 0o600 }));

export const forgetProxies = (folder: string): void => orElse(undefined, () => rmSync(fileIn(folder), { force: true }));

export const listNotedProxies = (folder: string): string[] =>
  orElse([], () => readFileSync(fileIn(folder), "utf8").split("\n").filter(Boolean));
