import { and, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { ClientId } from "../stream/client-id.ts";
import { toCursor } from "../stream/cursor.ts";
import { Since } from "../stream/since.ts";
import { windowOrder, type Source, windowCondition } from "../stream/source.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { Approval, approvalColumns, toApproval } from "./approval.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";

export const ApprovalStreamQuery = lazyObject(() => ({
  since: Since.describe("Sends changes after this time; the default is now. A Last-Event-ID header wins."),
  client_id: ClientId,
}));

const TaskCounts = lazyObject(() => ({
  task_id: Id.describe("A task linked to the approval."),
  approvals_count: z.int().describe("How many approvals are linked to the task."),
  approvals_pending_count: z.int().describe("How many of them are pending."),
})).meta({ id: "ApprovalTaskCounts", description: "The numbers of approvals of a task." });
type TaskCounts = z.infer<typeof TaskCounts>;

export const ApprovalEvent = lazyObject(() => ({
  approval: Approval.describe("The approval as it is now."),
  pending_approvals_count: z.int().describe("How many approvals of the board are pending."),
  task_counts: z
    .union([TaskCounts, z.array(TaskCounts)])
    .optional()
    .describe("Counts of the linked task, or a list of counts for several tasks; absent without linked tasks."),
})).meta({ id: "ApprovalEvent", description: "The data of an `approval` event." });
type ApprovalEvent = z.infer<typeof ApprovalEvent>;

const order = { tx: approvals.change_tx, seq: approvals.change_seq, at: approvals.updated_at, strictly: true };

const linkCount = sql`select count(*) from ${approval_task_links} as other where other.task_id = link.task_id`;
const task_counts = sql<TaskCounts[]>`coalesce((
  select jsonb_agg(jsonb_build_object('task_id', link.task_id, 'approvals_count', (${linkCount}),
    'approvals_pending_count', (${linkCount} and other.pending)) order by link.position, link.id)
  from ${approval_task_links} as link where link.approval_id = ${approvals}.id), '[]')`;

/** Returns the stream of a board's approvals. One statement reads an approval and its counts, so that they are consistent. */
export async function followApprovals(ctx: CallerContext, board_id: string): Promise<Source> {
  const board = await boardFor(ctx, board_id, "read");
  const pending_approvals_count = sql<number>`(select count(*) from ${approvals} as other
    where other.board_id = ${board.id} and other.status = 'pending')`.mapWith(Number);
  return {
    key: `approvals ${board.id}`,
    organization_id: board.organization_id,
    event: "approval",
    async read(ctx, window) {
      const rows = await ctx.db
        .select({ ...approvalColumns, pending_approvals_count, task_counts })
        .from(approvals)
        .where(and(eq(approvals.board_id, board.id), windowCondition(window, order)))
        .orderBy(...windowOrder(window, order))
        .limit(window.limit);
      return rows.map(({ pending_approvals_count, task_counts, ...row }) => {
        const counts = task_counts.length > 1 ? task_counts : task_counts[0];
        const data: ApprovalEvent = {
          approval: toApproval(row),
          pending_approvals_count,
          ...(counts ? { task_counts: counts } : {}),
        };
        return { id: row.id, cursor: toCursor(row.change_tx, row.change_seq), data };
      });
    },
  };
}
