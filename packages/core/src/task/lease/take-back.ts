import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { Agent, System, User } from "../../context/actor.ts";
import type { Context } from "../../context/context.ts";
import { actingAs } from "../../db/change-actor.ts";
import type { BoardRow } from "../../organization/access.ts";
import { runs } from "../../schema/run.sql.ts";
import { tasks } from "../../schema/task.sql.ts";
import { lockedBoard } from "../lock.ts";
import { nextTimes, type TaskRow } from "../status-rules.ts";
import type { TakenTask } from "./expiry-effects.ts";

/**
 * Takes the tasks of these runs away from their holders, in the caller's transaction. The tasks return to the inbox without an
 * assignee, and late writes of the holders are refused. Runs that have already ended are left out.
 */
export async function takeBackTasks(
  ctx: Context<User | Agent | System>,
  board: BoardRow,
  run_ids: readonly string[],
): Promise<TakenTask[]> {
  const held = await ctx.db
    .select()
    .from(tasks)
    .where(
      and(
        eq(tasks.board_id, lockedBoard(board)),
        inArray(
          tasks.id,
          ctx.db
            .select({ id: runs.task_id })
            .from(runs)
            .where(inArray(runs.id, [...run_ids])),
        ),
        inArray(tasks.run_id, [...run_ids]),
        eq(tasks.run_status, "running"),
        actingAs(ctx),
      ),
    )
    .orderBy(asc(tasks.id))
    .for("no key update");
  if (held.length === 0) return [];
  const ids = held.map(({ id }) => id);
  await ctx.db
    .update(tasks)
    .set({
      status: "inbox",
      assigned_agent_id: null,
      in_progress_at: null,
      lease_expires_at: null,
      lease_seconds: null,
      lease_was_free: false,
      lease_fence: sql`${tasks.lease_fence} + 1`,
      run_status: "stopped",
    })
    .where(and(eq(tasks.board_id, board.id), inArray(tasks.id, ids)));
  return held.map((before) => ({ before, after: toReturned(before, ctx.now()) }));
}

const toReturned = (before: TaskRow, now: Date): TaskRow => ({
  ...before,
  ...nextTimes(before.status, "inbox", before, now),
  status: "inbox",
  assigned_agent_id: null,
  lease_expires_at: null,
  lease_seconds: null,
  lease_was_free: false,
  lease_fence: before.lease_fence + 1,
});
