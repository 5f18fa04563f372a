import { boardFor } from "../organization/access.ts";
import type { Lead, User } from "../context/actor.ts";
import { countedEvents } from "../activity/counted-events.ts";
import { removeComments } from "../activity/retention.ts";
import { replacePrimaryTask } from "../approval/primary-task.ts";
import { type Context, transaction } from "../context/context.ts";
import { lockDependencies } from "./dependency/dependency.ts";
import { toRemovalEffects } from "./effects.ts";
import { lockTask, readTaskFacts } from "./lock.ts";
import { requireFence } from "./lease/fence.ts";
import { storeEffects } from "./store-effects.ts";
import { taskCondition } from "./task.ts";
import { tasks } from "../schema/task.sql.ts";

/** Removes a task with its comments and links. Other events about the task are kept, without its id. */
export async function removeTask(
  ctx: Context<User | Lead>,
  board_id: string,
  task_id: string,
  fence: number | null = null,
): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await transaction(ctx, async (ctx, isRetry) => {
    if (isRetry) await lockDependencies(ctx, board);
    const locked = await lockTask(ctx, board, task_id, { dependents: true });
    await requireFence(ctx, locked.task, fence);
    const { dependents } = await readTaskFacts(ctx, {
      board_id: board.id,
      task_id: locked.task.id,
      locked_ids: locked.locked_ids,
    });
    const condition = taskCondition(board.id, locked.task.id);
    await replacePrimaryTask(ctx, locked.task.id);
    // This stronger lock keeps others from adding a comment after the next statement has removed the comments.
    await ctx.db.select({ id: tasks.id, lock: countedEvents.sharedLock }).from(tasks).where(condition).for("update");
    await removeComments(ctx, board.id, locked.task.id);
    await ctx.db.delete(tasks).where(condition);
    await storeEffects(ctx, toRemovalEffects(ctx.actor, board, locked.task, dependents));
  });
}
