import { readFileSync } from "node:fs";
import path from "node:path";

/** A token is sent to the address, and a folder may come from anybody: only this machine is believed. */
const ON_THIS_MACHINE = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost):\d+$/;
/** A service that listens at all addresses of its machine also does so at this one. */
const ALL_ADDRESSES = /\/\/(0\.0\.0\.0|\[::\]):/;

/** The address of a service that was started on the data folder, by its DATA_DIR or in the current folder. */
export function findStartedService(environment: NodeJS.ProcessEnv): string | null {
  try {
    const folder = path.resolve(environment["DATA_DIR"]?.trim() || "./.data");
    const url = readFileSync(path.join(folder, "service.url"), "utf8").trim();
    const local = url.replace(ALL_ADDRESSES, "//127.0.0.1:");
    return ON_THIS_MACHINE.test(local) ? local : null;
  } catch {
    return null;
  }
}
