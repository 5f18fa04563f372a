import type { BoardService, TaskHandle } from "./board-service.ts";
import { tryGit } from "./git.ts";
import { untilAnswered } from "./retry.ts";
import type { TaskFolder } from "./worktree.ts";

/** The maximum size of a diff. People can read a larger diff on its branch. */
const MAX_BYTES = 10_000_000;

/**
 * Adds the changes of a run to its task as a file, so that they can be reviewed. The run does not depend on this file: a diff
 * that is too large, or that the service refuses, is left out.
 */
export async function attachDiff(
  service: BoardService,
  handle: TaskHandle,
  run_id: string,
  { path, base, branch }: TaskFolder,
  signal: AbortSignal,
): Promise<string | null> {
  if (base === null || branch === null) return null;
  // Without these options, git would start programs that the repository's configuration names.
  const diff = await tryGit(path, "diff", "--no-color", "--no-ext-diff", "--no-textconv", `${base}..HEAD`);
  if (!diff) return null;
  const content = Buffer.from(`${diff}\n`);
  if (content.length > MAX_BYTES) return "the diff is too large to be added to the task";
  const file = { name: "changes.diff", content_type: "text/x-diff", content, run_id };
  try {
    await untilAnswered(() => service.addFile(handle, file, `diff:${run_id}`), signal);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return `the diff could not be added to the task: ${(error as Error).message}`;
  }
}
