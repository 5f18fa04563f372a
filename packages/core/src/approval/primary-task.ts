import { asc, inArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";

/**
 * Prepares the removal of a task: where it is the first task of an approval, the next linked task takes its place. It locks all
 * approvals of the task, so that two concurrent removals cannot choose each other's task. Streams do not send these approvals
 * again, since they send only decisions.
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
  // A separate statement, because the links that others removed while this transaction waited for the locks are only visible to a
  // later statement.
  const nextTask = sql`(
    select link.task_id from ${approval_task_links} as link
    where link.approval_id = ${approvals}.id and link.task_id <> ${task_id}
    order by link.position, link.id limit 1)`;
  await ctx.db.update(approvals).set({ task_id: nextTask }).where(inArray(approvals.id, approval_ids));
}
