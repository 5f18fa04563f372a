import { afterAll, beforeEach } from "vitest";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** What a file's tests share: a server, a fake or a fixture. If a fake has both methods, `stop` only simulates an outage. */
type Closable = { close(): unknown } | { stop(): unknown };

/** Waits until a shared resource is open, and closes it after the file's tests. The last resource to open is closed first. */
export async function setup<T extends Closable>(opening: T | Promise<T>): Promise<T> {
  const opened = await opening;
  afterAll(async () => {
    await ("close" in opened ? opened.close() : opened.stop());
  });
  return opened;
}

/** Creates the world of all tests of a file. */
export const setupWorld = (options: WorldOptions = {}): Promise<World> => setup(createWorld(options));

/**
 * Calls `make` before each test, and returns one object that gets the fields of each result. `make` receives the number of the
 * test, from 1.
 */
export function renew<T extends object>(make: (test: number) => T | Promise<T>): T {
  const current = {} as T;
  let test = 0;
  beforeEach(async () => {
    Object.assign(current, await make(++test));
  });
  return current;
}
