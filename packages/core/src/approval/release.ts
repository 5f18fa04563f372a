import { asc, inArray, sql } from "drizzle-orm";
import type { Context } from "../context.ts";
import { approval_task_links, approvals } from "./approval.sql.ts";

/**
 * Lets go of a task that the caller's transaction holds and is about to remove: where it comes first, the next of the
 * approval's tasks does, or none. The links go with the task; streams show an approval when it is decided, so the change
 * order stays. Every approval of the task is held, so that of two tasks removed at once neither leaves it to the other.
 */
export async function releaseTask(ctx: Context, task_id: string): Promise<void> {
  const linked = sql`(select link.approval_id from ${approval_task_links} as link where link.task_id = ${task_id})`;
  const held = await ctx.db
    .select({ id: approvals.id, task_id: approvals.task_id })
    .from(approvals)
    .where(inArray(approvals.id, linked))
    .orderBy(asc(approvals.id))
    .for("no key update");
  const led = held.filter((one) => one.task_id === task_id).map(({ id }) => id);
  if (led.length === 0) return;
  // A statement of its own: the locks may have been waited for, and it sees what is left since.
  const next = sql`(
    select link.task_id from ${approval_task_links} as link
    where link.approval_id = ${approvals}.id and link.task_id <> ${task_id}
    order by link.position, link.id limit 1)`;
  await ctx.db.update(approvals).set({ task_id: next }).where(inArray(approvals.id, led));
}
