import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import type { Context } from "../context.ts";
import { cursorOf } from "../stream/cursor.ts";
import { Since } from "../stream/since.ts";
import { inOrder, type Source, within } from "../stream/source.ts";
import { Id } from "../wire.ts";
import { Approval, approvalColumns, toApproval } from "./approval.ts";
import { approval_task_links, approvals } from "./approval.sql.ts";

export const ApprovalStreamQuery = z.object({
  since: Since.describe("Start with what has changed after then; now when absent. A Last-Event-ID header wins."),
});

const TaskCounts = z
  .object({
    task_id: Id.describe("A task that the approval is about."),
    approvals_count: z.int().describe("How many approvals are linked to it."),
    approvals_pending_count: z.int().describe("How many of them are pending."),
  })
  .meta({ id: "ApprovalTaskCounts", description: "How many approvals a task has." });
type TaskCounts = z.infer<typeof TaskCounts>;

export const ApprovalEvent = z
  .object({
    approval: Approval.describe("The approval as it is now."),
    pending_approvals_count: z.int().describe("How many approvals of the board are pending."),
    task_counts: z
      .union([TaskCounts, z.array(TaskCounts)])
      .optional()
      .describe("The counts of its task, or of each of several; absent without a task."),
  })
  .meta({ id: "ApprovalEvent", description: "The data of an `approval` event." });
type ApprovalEvent = z.infer<typeof ApprovalEvent>;

const order = { tx: approvals.change_tx, seq: approvals.change_seq, at: approvals.updated_at, strictly: true };

const ofTask = sql`select count(*) from ${approval_task_links} as one where one.task_id = link.task_id`;
const task_counts = sql<TaskCounts[]>`coalesce((
  select jsonb_agg(jsonb_build_object('task_id', link.task_id, 'approvals_count', (${ofTask}),
    'approvals_pending_count', (${ofTask} and one.pending)) order by link.position, link.id)
  from ${approval_task_links} as link where link.approval_id = ${approvals}.id), '[]')`;

/** What is asked for and decided on a board from now on, with the counts of the same moment. */
export async function followApprovals(ctx: Context<User | Agent>, board_id: string): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const pending_approvals_count = sql<number>`(select count(*) from ${approvals} as other
    where other.board_id = ${board.id} and other.status = 'pending')`.mapWith(Number);
  return {
    key: `approvals ${board.id}`,
    event: "approval",
    async read(ctx, window) {
      const rows = await ctx.db
        .select({ ...approvalColumns, pending_approvals_count, task_counts })
        .from(approvals)
        .where(and(eq(approvals.board_id, board.id), within(window, order)))
        .orderBy(...inOrder(window, order))
        .limit(window.limit);
      return rows.map(({ pending_approvals_count, task_counts, ...row }) => {
        const counts = task_counts.length > 1 ? task_counts : task_counts[0];
        const data: ApprovalEvent = {
          approval: toApproval(row),
          pending_approvals_count,
          ...(counts ? { task_counts: counts } : {}),
        };
        return { id: row.id, cursor: cursorOf(row.change_tx, row.change_seq), data };
      });
    },
  };
}
