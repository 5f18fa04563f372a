import type { Task } from "@board/client";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findProgram } from "./agent-command.ts";
import { git, tryGit } from "./git.ts";
import type { RunLink } from "./journal.ts";
import type { TaskFolder } from "./worktree.ts";

const run = promisify(execFile);
const TIMEOUT_MS = 120_000;
const MAX_TITLE = 200;
const MAX_BODY = 20_000;

export interface PullRequestResult {
  text: string;
  links: RunLink[];
}

/**
 * Pushes the branch and opens a pull request by `gh` or `glab`. Without these programs, or when they fail, the returned text says
 * what to do.
 */
export async function openPullRequest(
  { path: folder, branch }: TaskFolder,
  task: Task,
  message: string,
  environment: NodeJS.ProcessEnv,
): Promise<PullRequestResult> {
  const none = (text: string): PullRequestResult => ({ text, links: [] });
  if (branch === null) return none("No pull request was opened, because the agent worked in place.");
  if (!(await tryGit(folder, "remote", "get-url", "origin")))
    return none(`No pull request was opened, because the repository has no remote named origin. The branch is ${branch}.`);
  try {
    await git(folder, "push", "--quiet", "--set-upstream", "origin", `refs/heads/${branch}:refs/heads/${branch}`);
  } catch (error) {
    return none(`The branch ${branch} could not be pushed: ${(error as Error).message}`);
  }
  const title = `--title=${task.title.replaceAll(/[\p{Cc}\s]+/gu, " ").slice(0, MAX_TITLE)}`;
  const body = message.slice(0, MAX_BODY);
  const tools: [string, string[]][] = [
    ["gh", ["pr", "create", `--head=${branch}`, title, `--body=${body}`]],
    ["glab", ["mr", "create", "--yes", `--source-branch=${branch}`, title, `--description=${body}`]],
  ];
  for (const [name, args] of tools) {
    const program = findProgram(name, environment);
    if (!program) continue;
    try {
      const { stdout, stderr } = await run(program, args, { cwd: folder, timeout: TIMEOUT_MS });
      const url = /https:\/\/\S+/.exec(`${stdout}\n${stderr}`)?.[0];
      return url
        ? { text: `Pull request: ${url}`, links: [{ kind: "pull_request", url }] }
        : none(`${name} opened a pull request for ${branch}.`);
    } catch (error) {
      const { stderr, message: reason } = error as { stderr?: string; message: string };
      return none(
        `The branch ${branch} is pushed, but ${name} opened no pull request: ${(stderr ?? "").trim().split("\n").at(-1) || reason}`,
      );
    }
  }
  return none(
    `The branch ${branch} is pushed. Neither gh nor glab is installed, so open the pull request on the page of the repository.`,
  );
}
