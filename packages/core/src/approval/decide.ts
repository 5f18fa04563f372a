import { and, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { newEvents, type TypedEvent } from "../activity/activity.ts";
import { type BoardRow, boardFor } from "../access.ts";
import type { User } from "../actor.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import type { Context } from "../context.ts";
import { changedNow } from "../db/columns.ts";
import { repeatableTransaction } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { oneLine } from "../wire.ts";
import { type Approval, ApprovalStatus, readApproval } from "./approval.ts";
import { approvalBoardEvents } from "./board-events.ts";
import { approval_task_links, approvals } from "./approval.sql.ts";
import { newDecisionNotices } from "./notices.ts";
import { holdTasks, keepOnePending, requireNonePending, tasksOf } from "./pending.ts";

export const DecideApproval = z
  .object({ status: ApprovalStatus.optional().describe("The decision; `pending` takes an earlier one back.") })
  .meta({ id: "ApprovalUpdate" });
export type DecideApproval = z.infer<typeof DecideApproval>;

/**
 * Decides an approval, or takes the decision back (contract approvals-tags.md §4). Under the row's lock, so that of equal
 * decisions at once only the first is one.
 */
export async function decideApproval(
  ctx: Context<User>,
  board_id: string,
  approval_id: string,
  { status }: DecideApproval,
): Promise<Approval> {
  const board = await boardFor(ctx, board_id, "write");
  if (status === undefined) return readApproval(ctx, board.id, approval_id);
  return keepOnePending(ctx, board, tasksOf(approval_id), () =>
    repeatableTransaction(ctx, async (ctx) => {
      await holdTasks(ctx, board, tasksOf(approval_id));
      const stored = await readApproval(ctx, board.id, approval_id, true);
      if (stored.status === status) return stored;
      if (status === "pending") await reopen(ctx, board, stored);
      else await resolve(ctx, board, { ...stored, status });
      return readApproval(ctx, board.id, approval_id);
    }),
  );
}

async function reopen(ctx: Context<User>, board: BoardRow, approval: Approval): Promise<void> {
  await requireNonePending(ctx, board, approval.task_ids);
  const message = `Approval reopened: ${oneLine(approval.action_type)}.`;
  await writeTogether(ctx, [
    ...newStatus(ctx, approval, { status: "pending", resolved_at: null, resolved_by_user_id: null }),
    newEvents(ctx, [{ event_type: "approval.reviewed", ...about(ctx, board, approval), message }]),
    ...newBoardEvents(ctx, approvalBoardEvents(board, { ...approval, status: "pending" })),
  ]);
}

async function resolve(ctx: Context<User>, board: BoardRow, approval: Approval): Promise<void> {
  const { status } = approval;
  const event = about(ctx, board, approval);
  const what = oneLine(approval.action_type);
  const events: TypedEvent[] = [
    { event_type: "approval.reviewed", ...event, message: `Approval reviewed: ${what}.` },
    { event_type: "approval.resolved", ...event, message: `Approval ${status}: ${what}.` },
  ];
  await writeTogether(ctx, [
    // The tasks' own times come from the same clock: a gate asks which of the two was later. And the moment itself, since
    // the tasks may have been waited for.
    ...newStatus(ctx, approval, { status, resolved_at: sql`clock_timestamp()`, resolved_by_user_id: ctx.actor.user_id }),
    newEvents(ctx, events),
    ...(await newDecisionNotices(ctx, board, approval)),
    ...newBoardEvents(ctx, approvalBoardEvents(board, approval)),
  ]);
}

interface Decision {
  status: Approval["status"];
  resolved_at: SQL | null;
  resolved_by_user_id: string | null;
}

const newStatus = (ctx: Context, { id, board_id }: Approval, decision: Decision) => [
  ctx.db
    .update(approvals)
    .set({ ...decision, ...changedNow })
    .where(and(eq(approvals.id, id), eq(approvals.board_id, board_id))),
  ctx.db
    .update(approval_task_links)
    .set({ pending: decision.status === "pending" })
    .where(eq(approval_task_links.approval_id, id)),
];

const about = (ctx: Context<User>, { organization_id, id: board_id }: BoardRow, { task_id }: Approval) => ({
  organization_id,
  board_id,
  task_id,
  user_id: ctx.actor.user_id,
});
