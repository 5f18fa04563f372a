import { and, count, eq } from "drizzle-orm";
import { boardFor } from "../organization/access.ts";
import type { CallerContext } from "../context/context.ts";
import { longPageQuery, type Page, type PageQuery, readPageAndCount } from "../lists/page.ts";
import { lazyObject } from "../values/wire.ts";
import { type Approval, approvalOrder, readApproval, readApprovals } from "./approval.ts";
import { ApprovalStatus } from "./approval-status.ts";
import { approvals } from "../schema/approval.sql.ts";

export const ApprovalQuery = lazyObject(() => ({
  ...longPageQuery().shape,
  status: ApprovalStatus.optional().describe("Only approvals with this decision."),
}));
export interface ApprovalQuery extends PageQuery {
  status?: ApprovalStatus | undefined;
}

/** The approvals of a board, newest first. */
export async function listApprovals(ctx: CallerContext, board_id: string, query: ApprovalQuery): Promise<Page<Approval>> {
  const board = await boardFor(ctx, board_id, "read");
  const where = and(
    eq(approvals.board_id, board.id),
    query.status === undefined ? undefined : eq(approvals.status, query.status),
  )!;
  return readPageAndCount(
    ctx,
    query,
    { name: "approvals", owner: board.id, order: approvalOrder },
    ({ after, ...page }) => readApprovals(ctx, and(where, after)!, page),
    async () => (await ctx.db.select({ total: count() }).from(approvals).where(where))[0]!.total,
    (approval) => approval,
  );
}

/** Needs write access when it is read before a decision. */
export async function getApproval(
  ctx: CallerContext,
  board_id: string,
  approval_id: string,
  need: "read" | "write",
): Promise<Approval> {
  const board = await boardFor(ctx, board_id, need);
  return readApproval(ctx, board.id, approval_id);
}
