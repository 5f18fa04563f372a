import { and, eq } from "drizzle-orm";
import { boardFor } from "../access.ts";
import type { Lead, User } from "../actor.ts";
import { newEvents } from "../activity/activity.ts";
import { whileNotCounting } from "../activity/lock.ts";
import { removeComments } from "../activity/remove.ts";
import { releaseTask } from "../approval/release.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import type { Context } from "../context.ts";
import { repeatableTransaction } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { unlinkedBoardEvents } from "./board-events.ts";
import { lockDependencies } from "./dependency.ts";
import { taskEvent } from "./events.ts";
import { holdTask, readFacts } from "./facts.ts";
import { tasks } from "./task.sql.ts";
import { newTransitions } from "./transition.ts";

/**
 * Removes a task with its comments and links; other events about it stay, and no longer name it. Nobody is notified, but
 * the tasks that depended on it show a change.
 */
export async function removeTask(ctx: Context<User | Lead>, board_id: string, task_id: string): Promise<void> {
  const board = await boardFor(ctx, board_id, "write");
  await repeatableTransaction(ctx, async (ctx, again) => {
    const { actor } = ctx;
    if (again) await lockDependencies(ctx, board);
    const held = await holdTask(ctx, board, task_id, { dependents: true });
    const { dependents } = await readFacts(ctx, held);
    const row = held.task;
    const doomed = and(eq(tasks.id, row.id), eq(tasks.board_id, board.id));
    await releaseTask(ctx, row.id);
    // From here on nothing can refer to it, so that no comment comes late.
    await ctx.db.select({ id: tasks.id, held: whileNotCounting }).from(tasks).where(doomed).for("update");
    await removeComments(ctx, board.id, row.id);
    await ctx.db.delete(tasks).where(doomed);
    const updated = `Dependency removed: ${row.title}.`;
    await writeTogether(ctx, [
      ...newTransitions(ctx, board.id, [
        { task_id: null, from_status: row.status, to_status: null, in_progress_at: row.in_progress_at },
      ]),
      newEvents(ctx, [
        taskEvent(actor, board, null, "task.deleted", `Task deleted: ${row.title}.`),
        ...dependents.map((one) => taskEvent(actor, board, one.id, "task.updated", updated)),
      ]),
      ...newBoardEvents(ctx, unlinkedBoardEvents(board, dependents)),
    ]);
  });
}
