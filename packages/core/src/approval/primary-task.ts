import { asc, inArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";

/**
 * Prepares the removal of a task: in approvals that have it as their first task, the next linked task becomes the first. All
 * approvals of the task are locked, so that a task that is being removed at the same time does not become the first.
 */
export async function replacePrimaryTask(ctx: Context, task_id: string): Promise<void> {
  const linked = sql`(select link.approval_id from ${approval_task_links} as link where link.task_id = ${task_id})`;
  const locked = await ctx.db
    .select({ id: approvals.id, task_id: approvals.task_id })
    .from(approvals)
    .where(inArray(approvals.id, linked))
    .orderBy(asc(approvals.id))
    .for("no key update");
  const approval_ids = locked.filter((approval) => approval.task_id === task_id).map(({ id }) => id);
  if (approval_ids.length === 0) return;
  // This is a separate statement. The statement above may have waited for locks, and only a later statement sees that links were
  // removed during the wait.
  const nextTask = sql`(
    select link.task_id from ${approval_task_links} as link
    where link.approval_id = ${approvals}.id and link.task_id <> ${task_id}
    order by link.position, link.id limit 1)`;
  await ctx.db.update(approvals).set({ task_id: nextTask }).where(inArray(approvals.id, approval_ids));
}
