import { hostname } from "node:os";
import { git, tryGit } from "./git.ts";
import type { RunLink } from "./journal.ts";
import { countCommits, type TaskFolder } from "./worktree.ts";

export interface WorkResult {
  has_changes: boolean;
  links: RunLink[];
}

const MAX_COMMIT_LINKS = 10;

/**
 * Commits what the agent left uncommitted in its worktree, and lists the changes. Without a worktree nothing is committed, because
 * the folder belongs to a person.
 */
export async function collectWork(folder: TaskFolder, subject: string): Promise<WorkResult> {
  if (folder.base === null) return { has_changes: false, links: [] };
  const isDirty = (await git(folder.path, "status", "--porcelain")) !== "";
  if (folder.branch === null) {
    const head = await tryGit(folder.path, "rev-parse", "HEAD");
    return { has_changes: isDirty || head !== folder.base, links: [] };
  }
  if (isDirty) await commitAll(folder.path, subject);
  const commits = await countCommits(folder.path, folder.base);
  if (commits === 0) return { has_changes: false, links: [] };
  const web = toWebAddress((await tryGit(folder.path, "remote", "get-url", "origin")) ?? "");
  const log = await git(folder.path, "log", `--max-count=${MAX_COMMIT_LINKS}`, "--format=%H %s", `${folder.base}..HEAD`);
  const branch: RunLink = {
    kind: "branch",
    url: web ? `${web}/tree/${folder.branch}` : toGitAddress(folder.branch),
    title: folder.branch,
  };
  const links = log.split("\n").map((line): RunLink => {
    const [hash = ""] = line.split(" ", 1);
    return {
      kind: "commit",
      url: web ? `${web}/commit/${hash}` : toGitAddress(hash),
      title: line.slice(hash.length + 1, 200) || hash,
    };
  });
  return { has_changes: true, links: [branch, ...links] };
}

/**
 * Returns an address for a branch or commit that exists only on this machine. It is not a web address, so pages do not link to it.
 */
const toGitAddress = (name: string) => `git://${hostname()}/${name}`;

async function commitAll(folder: string, subject: string): Promise<void> {
  await git(folder, "add", "--all");
  const hasName = (await tryGit(folder, "config", "user.email")) !== null;
  const author = hasName ? [] : ["-c", "user.name=board", "-c", "user.email=board@localhost"];
  // The repository's hooks are not run, because the work would be lost if a hook failed.
  await git(folder, ...author, "commit", "--quiet", "--no-verify", "--no-gpg-sign", `--message=${subject}`);
}

/**
 * Returns the web address of a remote such as git@host:owner/name.git, without credentials. Returns null if the remote has none.
 */
export function toWebAddress(remote: string): string | null {
  const ssh = /^(?:ssh:\/\/)?git@([\w.-]+)[:/]([\w./~-]+?)(?:\.git)?\/?$/.exec(remote);
  if (ssh) return `https://${ssh[1]}/${ssh[2]}`;
  if (!URL.canParse(remote) || !remote.startsWith("https:")) return null;
  const { host, pathname } = new URL(remote);
  return `https://${host}${pathname.replace(/(\.git)?\/?$/, "")}`;
}
