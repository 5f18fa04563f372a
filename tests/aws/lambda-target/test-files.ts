/** Selects the test files that can run on Lambdas: those that create a world. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export const tests = path.resolve(import.meta.dirname, "../..");

/** These files create worlds for others, or always use Lambdas. */
const NOT_FOLLOWED = ["support/world.ts", "support/fixtures.ts", "aws/deployment.ts"];
const IMPORT = /^(?:import|export) (?!type\b)[^;]*?from "(\.\.?\/[^"]+)"/gm;

/** Checks whether the file calls `createWorld` or `setupWorld`, directly or through the test support that it imports. */
function createsWorld(file: string, seen = new Set<string>()): boolean {
  const relative = path.relative(tests, file).replaceAll("\\", "/");
  if (seen.has(file) || relative.startsWith("..") || NOT_FOLLOWED.includes(relative)) return false;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  if (/\b(create|setup)World\(/.test(source)) return true;
  return [...source.matchAll(IMPORT)].some(([, target]) => createsWorld(path.join(path.dirname(file), target!), seen));
}

const all = globSync("*/*.test.ts", { cwd: tests })
  .map((file) => file.replaceAll("\\", "/"))
  .toSorted();

/** Returns the path of a test file below `tests` without its extension. Accepts a path from the project root or an absolute one. */
export const testName = (file: string): string =>
  path
    .relative(tests, path.resolve(tests, "..", file))
    .replaceAll("\\", "/")
    .replace(/\.test\.ts$/, "");

const withoutEnding = (file: string): string => file.replace(/\.test\.ts$/, "");

export const worldTests = all.filter((file) => createsWorld(path.join(tests, file))).map(withoutEnding);
export const otherTests = all.map(withoutEnding).filter((name) => !worldTests.includes(name));
