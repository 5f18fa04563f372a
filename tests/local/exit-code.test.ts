import { spawnSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const server = pathToFileURL(path.resolve(import.meta.dirname, "../support/postgres.ts")).href;

test.each([0, 1])("a test run that has used the PostgreSQL server exits with its own code %i", (code) => {
  const program = `await import(${JSON.stringify(server)}); process.exitCode = ${code};`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect([status, stderr]).toEqual([code, ""]);
});
