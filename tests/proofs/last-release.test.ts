import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { cleanUpPrograms, temporaryFolder } from "../support/program.ts";
import { findLastRelease } from "./cluster/last-release.ts";

let repository: string;
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();

/** Commits a file and returns the commit. */
function commit(file: string): string {
  writeFileSync(path.join(repository, file), "select 1;\n");
  git("add", ".");
  git("commit", "--quiet", "--message", file);
  return git("rev-parse", "HEAD");
}

beforeEach(() => {
  vi.stubEnv("LAST_RELEASE", "");
  repository = temporaryFolder();
  git("init", "--quiet");
  mkdirSync(path.join(repository, "migrations"));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await cleanUpPrograms();
});

test("without a tag, the last release is the commit before the newest migration", () => {
  commit("migrations/0000_first.sql");
  const before = commit("README.md");
  commit("migrations/0001_second.sql");
  commit("AGENTS.md");
  expect(findLastRelease(repository)).toBe(before);
});

test("the last release is the newest tag of a version before the current commit, unless LAST_RELEASE names another", () => {
  commit("migrations/0000_first.sql");
  git("tag", "v0.1.0");
  git("tag", "chart");
  commit("migrations/0001_second.sql");
  expect(findLastRelease(repository)).toBe("v0.1.0");
  git("tag", "v0.2.0");
  expect(findLastRelease(repository), "the current commit is no last release").toBe("v0.1.0");
  const clone = temporaryFolder();
  git("clone", "--quiet", repository, clone);
  expect(findLastRelease(clone)).toBe("v0.1.0");
  vi.stubEnv("LAST_RELEASE", "v0.0.9");
  expect(findLastRelease(repository)).toBe("v0.0.9");
});

test("a shallow clone without tags says how to get the last release", () => {
  commit("migrations/0000_first.sql");
  commit("migrations/0001_second.sql");
  const clone = temporaryFolder();
  git("clone", "--quiet", "--depth", "1", pathToFileURL(repository).href, clone);
  expect(() => findLastRelease(clone)).toThrow(/^This clone is shallow .* git fetch --unshallow --tags, or set LAST_RELEASE/);
});
