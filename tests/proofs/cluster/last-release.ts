/** The last release as a process on the database of the current version: its sources in a temporary folder, with our packages. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "../../..");

function git(repository: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: repository, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args.join(" ")} failed: ${stderr}`);
  return stdout.trim();
}

/**
 * Returns the last release: LAST_RELEASE, or else the newest tag of a version that does not contain the current commit. Without such
 * tags it is the commit before the newest migration, because its tables differ from the current tables.
 */
export function findLastRelease(repository = root): string {
  const given = process.env["LAST_RELEASE"];
  if (given) return given;
  const [tag] = git(repository, "tag", "--list", "v*", "--no-contains", "HEAD", "--sort=-creatordate").split("\n");
  if (tag) return tag;
  if (git(repository, "rev-parse", "--is-shallow-repository") === "true")
    throw new Error(
      "This clone is shallow and has no tag of a release. Run git fetch --unshallow --tags, or set LAST_RELEASE to a commit.",
    );
  const newest = readdirSync(path.join(repository, "migrations"))
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .at(-1)!;
  const added = git(repository, "log", "--diff-filter=A", "-1", "--format=%H", "--", `migrations/${newest}`);
  return git(repository, "rev-parse", `${added}^`);
}

/** Returns the launcher of the release, and a function that removes its folder. */
export function checkOut(commit: string): { launcher: string; remove: () => void } {
  const folder = path.join(tmpdir(), `board-last-release-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const archive = spawnSync("sh", ["-c", `git archive ${commit} | tar -x -C "${folder}"`], { cwd: root, encoding: "utf8" });
  if (archive.status !== 0) throw new Error(`git archive failed: ${archive.stderr}`);
  linkPackages(folder);
  return { launcher: path.join(folder, "scripts/start.mjs"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Links all packages except the packages of the workspace itself, which must come from the last release. */
function linkPackages(folder: string): void {
  const linkAll = (from: string, to: string, leftOut: readonly string[]) => {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) if (!leftOut.includes(name)) symlinkSync(path.join(from, name), path.join(to, name));
  };
  linkAll(path.join(root, "node_modules"), path.join(folder, "node_modules"), ["@board"]);
  mkdirSync(path.join(folder, "node_modules/@board"));
  for (const name of readdirSync(path.join(folder, "packages"))) {
    symlinkSync(path.join(folder, "packages", name), path.join(folder, "node_modules/@board", name));
    const own = path.join(root, "packages", name, "node_modules");
    if (existsSync(own)) linkAll(own, path.join(folder, "packages", name, "node_modules"), []);
  }
}
