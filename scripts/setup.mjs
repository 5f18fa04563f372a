// Prepares a clone for work: Git then runs the hooks in scripts/git-hooks. Run it once, with `npm run setup`. An installation
// never does this, because installing a package must not change the configuration of a repository.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import path from "node:path";

const HOOKS = "scripts/git-hooks";
const root = path.resolve(import.meta.dirname, "..");

function git(...args) {
  const { error, status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (error) fail(`Git could not be started: ${error.message}`);
  return { ok: status === 0, text: stdout.trim() };
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const top = git("rev-parse", "--show-toplevel");
if (!top.ok || path.resolve(top.text) !== root) fail(`${root} is not the root of a Git repository, so no hook was installed.`);

const current = git("config", "--local", "--get", "core.hooksPath").text;
if (current !== "" && current !== HOOKS)
  fail(
    `Git already takes its hooks from ${current}. Run "git config --unset core.hooksPath" first to use the hooks of this project.`,
  );

// Git ignores a hook that is not executable, and an archive or a copy may have lost the bit.
if (process.platform !== "win32") chmodSync(path.join(root, HOOKS, "pre-commit"), 0o755);
if (!git("config", "--local", "core.hooksPath", HOOKS).ok) fail("Git did not accept the setting core.hooksPath.");

console.log(`Git now runs the hooks in ${HOOKS}: every commit formats and lints the files that are staged.`);
console.log('"git commit --no-verify" skips them once; "git config --unset core.hooksPath" removes them.');
if (!existsSync(path.join(root, "node_modules")))
  console.log("Run npm ci as well: the hooks use the project's formatter and linter.");
