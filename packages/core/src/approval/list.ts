import { eq, type Placeholder, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { longPageQuery, type Page } from "../lists/page.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { type Approval, approvalOrder, readApproval, approvalColumns, LARGE_APPROVAL_FIELDS, toApproval } from "./approval.ts";
import { ApprovalStatus } from "./approval-status.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy } from "../lists/filter.ts";

export const ApprovalQuery = lazyObject(() => ({
  ...longPageQuery().shape,
  status: ApprovalStatus.optional().describe("Only approvals with this decision."),
  task_id: Id.optional().describe("Only approvals that are linked to this task."),
}));
export type ApprovalQuery = z.infer<typeof ApprovalQuery>;

const approvalList = listOf({
  name: "approvals",
  table: approvals,
  columns: approvalColumns,
  large: LARGE_APPROVAL_FIELDS,
  order: approvalOrder,
});

const isLinkedTo = (task_id: string | Placeholder) =>
  sql`${approvals.id} in (select link.approval_id from ${approval_task_links} as link where link.task_id = ${task_id})`;

/** Lists the approvals of a board, newest first. */
export async function listApprovals(ctx: CallerContext, board_id: string, query: ApprovalQuery): Promise<Page<Approval>> {
  const board = await boardFor(ctx, board_id, "read");
  return approvalList.read(ctx, query, {
    owner: board.id,
    filters: [
      filterBy("board_id", board.id, (id) => eq(approvals.board_id, id)),
      filterBy("status", query.status, (status) => eq(approvals.status, status)),
      filterBy("task_id", query.task_id, isLinkedTo),
    ],
    toItem: toApproval,
  });
}

/** Returns an approval of a board. `need` is "write" if the caller is about to decide the approval. */
export async function getApproval(
  ctx: CallerContext,
  board_id: string,
  approval_id: string,
  need: "read" | "write",
): Promise<Approval> {
  const board = await boardFor(ctx, board_id, need);
  return readApproval(ctx, board.id, approval_id);
}
