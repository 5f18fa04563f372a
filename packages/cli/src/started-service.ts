import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * Only addresses on this machine are accepted, because a token is sent there, and anybody may have created the file with the
 * address.
 */
const ON_THIS_MACHINE = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost):\d+$/;
/** A service that listens at all addresses also listens at 127.0.0.1. */
const ALL_ADDRESSES = /\/\/(0\.0\.0\.0|\[::\]):/;

/** Returns the address of a service that was started on the data folder (DATA_DIR, else one in the current folder), or null. */
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
