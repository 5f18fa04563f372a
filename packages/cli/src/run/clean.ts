import { ApiError } from "@board/client";
import { findRepository, type ListedWorktree, listWorktrees, removeWorktree } from "@board/runner/worktree";
import type { Run } from "../cli.ts";
import { UsageError } from "../failure.ts";
import type { Session } from "../session.ts";

/** Lists the worktrees of tasks. Removes those that have no uncommitted changes and whose task is done or was deleted. */
export async function cleanWorktrees(run: Run, folder: string): Promise<void> {
  const { output } = run;
  const repository = await findRepository(folder);
  if (!repository) throw new UsageError(`${folder} is not in a git repository.`);
  const session = await run.openSession();
  const listed: (ListedWorktree & { status: string; removed: boolean })[] = [];
  for (const worktree of await listWorktrees(repository)) {
    const status = await statusOf(session, worktree);
    const isOver = status === "done" || status === "gone";
    const removed = isOver && worktree.state === "clean" && (await removeWorktree(repository, worktree));
    listed.push({ ...worktree, status, removed });
  }
  output.result(listed, () =>
    output.table(
      listed,
      [
        { title: "branch", value: ({ branch }) => branch, max: 60 },
        { title: "task", value: ({ status }) => status },
        { title: "commits", value: ({ commits }) => commits },
        { title: "worktree", value: ({ state, removed }) => (removed ? "removed" : state) },
        { title: "folder", value: ({ path }) => path },
      ],
      "There is no worktree of a task.",
    ),
  );
}

async function statusOf(session: Session, { task_id, board_id: noted }: ListedWorktree): Promise<string> {
  try {
    const board_id = noted ?? (await session.findBoardIdOf(task_id));
    const params = { path: { board_id, task_id } };
    return (await session.client.get("/api/v1/boards/{board_id}/tasks/{task_id}", { params })).status;
  } catch (error) {
    // Only a 404 means that the task was deleted. After any other error the state of the task is unknown, so the worktree stays.
    if (error instanceof ApiError && error.status === 404) return "gone";
    throw error;
  }
}
