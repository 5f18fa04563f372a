import type { BoardService } from "./board-service.ts";
import type { RunnerEvent } from "./options.ts";
import { listWorktrees, removeWorktree, type Repository } from "./worktree.ts";

/**
 * Removes the worktrees whose task is done and that have no uncommitted changes. If this agent cannot read the task, the worktree
 * is kept: only `board run --clean`, which a person starts, removes worktrees of deleted tasks.
 */
export async function removeDoneWorktrees(
  service: BoardService,
  repository: Repository,
  print: (event: RunnerEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const worktree of await listWorktrees(repository).catch(() => [])) {
    const { board_id, task_id, state, path } = worktree;
    if (state !== "clean" || board_id === undefined) continue;
    if (signal.aborted) return;
    try {
      const { status } = await service.readTask({ board_id, task_id, fence: 0 });
      if (status === "done" && (await removeWorktree(repository, worktree)))
        print({ event: "removed", text: `removed ${path}, because its task is done`, task_id });
    } catch {
      // The runner tries again at its next start.
    }
  }
}
