import { boardFor } from "../../organization/access.ts";
import type { Agent } from "../../context/actor.ts";
import { type Context, transaction } from "../../context/context.ts";
import { createComment } from "../comment/comment.ts";
import { changeLease } from "../update.ts";
import type { Task } from "../task.ts";

/** Returns a task to the inbox and adds the reason as a comment on the task, in one transaction. */
export async function releaseTask(
  ctx: Context<Agent>,
  board_id: string,
  task_id: string,
  { reason, fence }: { reason: string; fence: number | null },
): Promise<Task> {
  const board = await boardFor(ctx, board_id, "write");
  return transaction(ctx, async (ctx) => {
    // The lease is changed first, because that locks the board before the task. Adding the comment first could deadlock.
    const task = await changeLease(ctx, board, task_id, { type: "return" }, fence);
    await createComment(ctx, board_id, task_id, { content: reason, tags: null, anchor: null });
    return task;
  });
}
