// Formats and lints the staged files. A partly staged file is only checked, because staging its formatted version would also stage
// the changes that its author left out.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const MAX_BYTES = 64 * 1024 * 1024;
const FORMATTED = /\.(ts|mjs|json)$/;
const LINTED = /\.(ts|mjs)$/;

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, maxBuffer: MAX_BYTES, ...options });
  if (result.error) fail(`${command} could not be started: ${result.error.message}`);
  return result;
}

const tool = (name, args, options) => run(process.execPath, ["scripts/with-node.mjs", name, ...args], options);

function git(...args) {
  // Git must not treat a file name as a pattern.
  const { status, stdout, stderr } = run("git", ["--literal-pathspecs", ...args]);
  if (status !== 0) fail(`git ${args[0]} failed: ${String(stderr).trim()}`);
  return stdout;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const namesOf = (output) => output.toString().split("\0").filter(Boolean);
// Links (mode 120000) and submodules (160000) have no content to format.
const isFile = (line) => line.startsWith("100");

const staged = namesOf(git("diff", "--cached", "--name-only", "--diff-filter=ACMR", "-z")).filter((name) => FORMATTED.test(name));
if (staged.length === 0) process.exit(0);
if (!existsSync(path.join(root, "node_modules/.bin/biome")))
  fail("The formatter is not installed. Run npm ci, then commit again.");

// Lists the entries of the index as "mode hash stage<tab>name".
const files = namesOf(git("ls-files", "--stage", "-z", "--", ...staged))
  .filter(isFile)
  .map((line) => line.slice(line.indexOf("\t") + 1));
const touched = new Set(namesOf(git("diff", "--name-only", "-z", "--", ...staged)));
const whole = files.filter((name) => !touched.has(name));
const partial = files.filter((name) => touched.has(name));

if (whole.length > 0) {
  const { status } = tool("biome", ["format", "--write", "--no-errors-on-unmatched", "--files-ignore-unknown=true", ...whole], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) fail("The formatter could not read a staged file. Correct the file that it names above, then commit again.");
  const changed = namesOf(git("diff", "--name-only", "-z", "--", ...whole));
  if (changed.length > 0) git("add", "--", ...changed);
  for (const name of changed) console.log(`Formatted ${name}.`);
}

const unformatted = partial.filter((name) => {
  const content = git("show", `:${name}`);
  const { status, stdout } = tool("biome", ["format", `--stdin-file-path=${name}`], { input: content });
  return status !== 0 || !stdout.equals(content);
});
if (unformatted.length > 0)
  fail(
    `These files are staged in part, and the staged part is not formatted: ${unformatted.join(", ")}. Stage all of each file, or format the staged part.`,
  );

const linted = files.filter((name) => LINTED.test(name));
if (linted.length === 0) process.exit(0);
// Lints without types, because the type-aware rules of `npm run lint` take too long for a commit.
const { status } = tool("oxlint", ["--no-error-on-unmatched-pattern", "--quiet", ...linted], {
  stdio: ["ignore", "inherit", "inherit"],
});
if (status !== 0) fail("The linter refused the commit. Correct what it names above, then stage and commit again.");
