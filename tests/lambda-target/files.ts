/** Which test files can say anything about Lambdas: those that make a world. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const tests = path.resolve(import.meta.dirname, "..");

/** Make worlds for others, or Lambdas of their own whichever the target is. */
const NOT_MAKERS = ["world.ts", "cloud.ts"];
const IMPORT = /^(?:import|export) (?!type\b)[^;]*?from "(\.\/[^"]+)"/gm;

/** Whether the file calls `createWorld`, by itself or through what it imports from the tests' support. */
function makesWorlds(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file) || NOT_MAKERS.includes(path.basename(file))) return false;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  if (/\bcreateWorld\(/.test(source)) return true;
  return [...source.matchAll(IMPORT)].some(([, target]) => makesWorlds(path.join(path.dirname(file), target!), seen));
}

const all = readdirSync(tests)
  .filter((name) => name.endsWith(".test.ts"))
  .toSorted();

/** Names of test files without their ending. */
export const nameOf = (file: string): string => path.basename(file, ".test.ts");

export const withWorlds = all.filter((name) => makesWorlds(path.join(tests, name))).map(nameOf);
export const withoutWorlds = all.map(nameOf).filter((name) => !withWorlds.includes(name));
