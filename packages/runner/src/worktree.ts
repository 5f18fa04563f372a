import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { git, tryGit } from "./git.ts";
import { isOwned, type OwnerLock, takeOwnership } from "./owner-lock.ts";

/** A folder in which the agent works on one task. */
export interface TaskFolder {
  path: string;
  /** The branch of the worktree; null if the agent works in the person's own checkout or outside of a repository. */
  branch: string | null;
  /** The commit with which the work began; null outside of a repository. */
  base: string | null;
  /** Whether other runs may use the folder at the same time. */
  is_shared: boolean;
  release(): void;
}

export interface Repository {
  /** The folder of the person's own checkout. */
  root: string;
  /** The git folder that all worktrees share. */
  common: string;
}

interface NamedTask {
  id: string;
  board_id: string;
  title: string;
}

/** What is stored about a worktree, in a file next to its folder. */
interface WorktreeNote {
  task_id: string;
  /** Missing in files that an earlier version wrote. */
  board_id?: string;
  branch: string;
  base: string;
}

export async function findRepository(folder: string): Promise<Repository | null> {
  const common = await tryGit(folder, "rev-parse", "--path-format=absolute", "--git-common-dir");
  if (common === null) return null;
  const root = path.basename(common) === ".git" ? path.dirname(common) : common;
  return { root, common };
}

const SHORT_ID = 8;
const MAX_SLUG = 40;

/**
 * Returns the name of a task's branch. Only letters and digits of the title are used, so that it cannot become an option or a path.
 */
export function toBranch(task_id: string, title: string): string {
  const words = title
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replaceAll(/^-|-$/g, "");
  return `board/${task_id.slice(0, SHORT_ID)}${words === "" ? "" : `-${words}`}`;
}

/**
 * Creates the worktree of a task, or returns the worktree that an earlier run left. Worktrees are in `.board/worktrees` of the
 * repository and not below `.git`, because many tools ignore or protect every path that contains `.git`.
 */
export async function openWorktree({ root, common }: Repository, task: NamedTask, base: string | null): Promise<TaskFolder> {
  const parent = worktreeFolder(root);
  const folder = path.join(parent, requireId(task.id));
  const lock = takeOwnership(`${folder}.lock`);
  if (!lock) throw new Error(`The worktree ${folder} is in use by another runner.`);
  try {
    mkdirSync(parent, { recursive: true });
    excludeWorktrees(common);
    const note = readNote(folder);
    if (note && note.task_id === task.id && existsSync(path.join(folder, ".git"))) return toFolder(folder, note, lock);
    return toFolder(folder, await addWorktree(root, folder, task, base), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function addWorktree(root: string, folder: string, task: NamedTask, base: string | null): Promise<WorktreeNote> {
  await tryGit(root, "worktree", "prune");
  if (existsSync(folder)) await removeUnused(root, folder);
  if (existsSync(folder))
    throw new Error(`${folder} is in the way: it is no worktree of this task. Remove it, and the task can begin.`);
  const commit = await resolveBase(root, base);
  const wanted = toBranch(task.id, task.title);
  const existing = await findBranch(root, task.id);
  const branch = existing ?? wanted;
  if (existing) await git(root, "worktree", "add", "--quiet", folder, existing);
  else await git(root, "worktree", "add", "--quiet", "-b", branch, folder, commit);
  const start = existing ? await git(root, "merge-base", commit, existing) : commit;
  const note = { task_id: task.id, board_id: task.board_id, branch, base: start };
  writeFileSync(`${folder}.json`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  return note;
}

/**
 * Removes a worktree without a note: its runner was killed before the agent began. Git refuses this for changed files, except in a
 * worktree that git itself was still creating.
 */
async function removeUnused(root: string, folder: string): Promise<void> {
  const listed = ((await tryGit(root, "worktree", "list", "--porcelain")) ?? "").split("\n\n");
  const own = listed.find((worktree) => worktree.split("\n").includes(`worktree ${folder}`));
  const isHalfMade = own?.split("\n").includes("locked initializing");
  await tryGit(root, "worktree", "remove", ...(isHalfMade ? ["--force", "--force"] : []), folder);
}

/** Finds the branch that an earlier run made for the task and whose worktree was removed. */
async function findBranch(root: string, task_id: string): Promise<string | null> {
  const short = `refs/heads/board/${task_id.slice(0, SHORT_ID)}`;
  const found = await git(root, "for-each-ref", "--format=%(refname:short)", short, `${short}-*`);
  return found.split("\n")[0] || null;
}

/** Only the name of a branch or tag is allowed as a base. Everything else, such as an option or an expression, is refused. */
const BASE = /^[\w][\w./-]{0,199}$/;

async function resolveBase(root: string, base: string | null): Promise<string> {
  if (base !== null && (!BASE.test(base) || base.includes(".."))) throw new Error("The base is not the name of a branch.");
  const candidates = base === null ? ["HEAD"] : [`refs/heads/${base}`, `refs/remotes/origin/${base}`, `refs/tags/${base}`];
  for (const candidate of candidates) {
    const commit = await tryGit(root, "rev-parse", "--verify", "--quiet", `${candidate}^{commit}`);
    if (commit) return commit;
  }
  throw new Error(base === null ? "The repository has no commit yet." : `The repository has no branch ${base}.`);
}

const worktreeFolder = (root: string) => path.join(root, ".board", "worktrees");

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Throws unless the id is a UUID. The service created the id, but it is checked because it is used as the name of a folder. */
function requireId(id: string): string {
  if (!UUID.test(id)) throw new Error("The id of the task is not valid.");
  return id;
}

function toFolder(folder: string, { branch, base }: WorktreeNote, lock: OwnerLock): TaskFolder {
  return { path: folder, branch, base, is_shared: false, release: () => lock.release() };
}

function readNote(folder: string): WorktreeNote | null {
  try {
    return JSON.parse(readFileSync(`${folder}.json`, "utf8")) as WorktreeNote;
  } catch {
    return null;
  }
}

/** Hides the worktrees from the person's `git status`, without changing a file that is committed. */
function excludeWorktrees(common: string): void {
  const file = path.join(common, "info", "exclude");
  const line = "/.board/worktrees/";
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (text.split("\n").includes(line)) return;
  mkdirSync(path.dirname(file), { recursive: true });
  appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${line}\n`);
}

/** Opens a person's folder as it is, without a worktree. */
export async function openInPlace(folder: string): Promise<TaskFolder> {
  const base = await tryGit(folder, "rev-parse", "--verify", "--quiet", "HEAD");
  return { path: folder, branch: null, base, is_shared: true, release() {} };
}

export interface ListedWorktree extends WorktreeNote {
  path: string;
  state: "in use" | "changed" | "clean";
  /** Number of commits that are on the branch but not on its base. */
  commits: number;
}

export async function listWorktrees({ root }: Repository): Promise<ListedWorktree[]> {
  const parent = worktreeFolder(root);
  if (!existsSync(parent)) return [];
  const listed: ListedWorktree[] = [];
  for (const name of readdirSync(parent).filter((entry) => UUID.test(entry))) {
    const folder = path.join(parent, name);
    const note = readNote(folder);
    if (!note || !existsSync(path.join(folder, ".git"))) continue;
    const isClean = (await git(folder, "status", "--porcelain")) === "";
    const state = isOwned(`${folder}.lock`) ? "in use" : isClean ? "clean" : "changed";
    listed.push({ ...note, path: folder, state, commits: await countCommits(folder, note.base) });
  }
  return listed;
}

export const countCommits = async (folder: string, base: string): Promise<number> =>
  Number((await tryGit(folder, "rev-list", "--count", `${base}..HEAD`)) ?? 0);

/** Removes a worktree in which everything is committed. Its branch is kept unless it has no commits. */
export async function removeWorktree({ root }: Repository, { path: folder, branch, commits }: ListedWorktree): Promise<boolean> {
  const lock = takeOwnership(`${folder}.lock`);
  if (!lock) return false;
  try {
    if ((await git(folder, "status", "--porcelain")) !== "") return false;
    await git(root, "worktree", "remove", folder);
    rmSync(`${folder}.json`, { force: true });
    if (commits === 0) await tryGit(root, "branch", "--delete", "--force", "--", branch);
    return true;
  } finally {
    lock.release();
  }
}
