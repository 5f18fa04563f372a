import { and, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { insertEvents } from "../activity/activity.ts";
import type { NewActivityEvent } from "../activity/event-type.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import type { User } from "../context/actor.ts";
import { insertBoardEvents } from "../subscription/board-event.ts";
import { type Context, transaction } from "../context/context.ts";
import { changedNow } from "../schema/columns.ts";
import { DomainError } from "../values/errors.ts";
import { runBatch } from "../db/batch.ts";
import { ellipsize } from "../values/text.ts";
import { MAX_NAME, oneLine, lazyObject } from "../values/wire.ts";
import { type Approval, readApproval } from "./approval.ts";
import { ApprovalStatus } from "./approval-status.ts";
import { approvalBoardEvents } from "./board-events.ts";
import { Answer, answerTextOf, isAside, isQuestion, withAnswer } from "./question.ts";
import { isRunPermission, withSelectedOption } from "./run-permission.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { insertDecisionNotifications } from "./notifications.ts";
import { lockTasks, mapPendingConflict, requireNoPendingApproval, taskIdsOfApproval } from "./pending.ts";
import { replaceShownDecisions } from "./shown-decisions.ts";
import { recordAudit } from "../audit/record.ts";

export const DecideApproval = lazyObject(() => ({
  status: ApprovalStatus.optional().describe("The decision. `pending` withdraws an earlier decision."),
  option_id: z
    .string()
    .max(MAX_NAME)
    .optional()
    .describe(
      "For the action `run.permission`: the id of the chosen option of the payload. The option must agree with the status.",
    ),
  answer: Answer.optional().describe("For the action `question`: the answer. `rejected` means that there is none."),
})).meta({ id: "ApprovalUpdate" });
export type DecideApproval = z.infer<typeof DecideApproval>;

/**
 * Decides an approval or withdraws the decision (docs/reference/approvals.md#deciding-an-approval). The row is locked, so if
 * several concurrent requests make the same decision, only the first has effects.
 */
export const decideApproval = async (
  ctx: Context<User>,
  board_id: string,
  approval_id: string,
  decision: DecideApproval,
): Promise<Approval> => (await decide(ctx, board_id, approval_id, decision)).approval;

interface Decided {
  approval: Approval;
  /** False if the approval already had this status, or if another request decided first. */
  is_changed: boolean;
}

/** Decides an approval unless it is already decided. Of several concurrent decisions, exactly one takes effect. */
export const decidePending = (
  ctx: Context<User>,
  board_id: string,
  approval_id: string,
  decision: DecideApproval,
): Promise<Decided> => decide(ctx, board_id, approval_id, decision, true);

async function decide(
  ctx: Context<User>,
  board_id: string,
  approval_id: string,
  { status, option_id, answer }: DecideApproval,
  only_pending = false,
): Promise<Decided> {
  const board = await boardFor(ctx, board_id, "write");
  if (status === undefined) return { approval: await readApproval(ctx, board.id, approval_id), is_changed: false };
  return mapPendingConflict(ctx, board, taskIdsOfApproval(approval_id), () =>
    transaction(ctx, async (ctx) => {
      await lockTasks(ctx, board, taskIdsOfApproval(approval_id));
      const stored = await readApproval(ctx, board.id, approval_id, true);
      if (stored.status === status || (only_pending && stored.status !== "pending"))
        return { approval: stored, is_changed: false };
      if (status === "pending") await reopen(ctx, board, stored);
      else await resolve(ctx, board, { ...stored, status, payload: decidedPayload(stored, status, { option_id, answer }) });
      const target = { id: approval_id, name: stored.action_type };
      const entry = { organization_id: board.organization_id, target, before: { status: stored.status }, after: { status } };
      await recordAudit(ctx, "approval.decided", entry);
      return { approval: await readApproval(ctx, board.id, approval_id), is_changed: true };
    }),
  );
}

type Choice = Pick<DecideApproval, "option_id" | "answer">;

function decidedPayload(stored: Approval, status: "approved" | "rejected", { option_id, answer }: Choice): Approval["payload"] {
  const payload = withSelectedOption(stored, status, option_id);
  return withAnswer({ ...stored, payload }, status, answer);
}

async function reopen(ctx: Context<User>, board: BoardRow, approval: Approval): Promise<void> {
  if (isAside(approval)) throw new DomainError("conflict", "The agent has acted on this decision already.");
  await requireNoPendingApproval(ctx, board, approval.task_ids);
  const message = `Approval reopened: ${oneLine(approval.action_type)}.`;
  await runBatch(ctx, [
    ...decisionUpdates(ctx, approval, { status: "pending", resolved_at: null, resolved_by_user_id: null }),
    insertEvents([{ event_type: "approval.reviewed", ...eventFields(ctx, board, approval), message }]),
    ...insertBoardEvents(ctx, approvalBoardEvents(board, { ...approval, status: "pending" })),
  ]);
}

async function resolve(ctx: Context<User>, board: BoardRow, approval: Approval): Promise<void> {
  const { status } = approval;
  const event = eventFields(ctx, board, approval);
  const action = oneLine(approval.action_type);
  const events: NewActivityEvent[] = [
    { event_type: "approval.reviewed", ...event, message: `Approval reviewed: ${action}.` },
    { event_type: "approval.resolved", ...event, message: `Approval ${status}: ${action}.` },
    ...answerComments(event, approval),
  ];
  await runBatch(ctx, [
    ...decisionUpdates(ctx, approval, { status, resolved_at: DECIDED_AT, resolved_by_user_id: ctx.actor.user_id }),
    insertEvents(events),
    // The runner that asked watches the approval itself, and no other agent waits for the decision. So nobody is notified.
    ...(isRunPermission(approval) ? [] : await insertDecisionNotifications(ctx, board, approval)),
    ...replaceShownDecisions(ctx, { organization_id: board.organization_id, approval_id: approval.id }),
    ...insertBoardEvents(ctx, approvalBoardEvents(board, approval)),
  ]);
}

/** Returns the answer to a question as a comment on its task, so that everybody who works on the task later finds the answer. */
function answerComments(event: ReturnType<typeof eventFields>, approval: Approval): NewActivityEvent[] {
  const answer = isQuestion(approval) ? answerTextOf(approval) : null;
  if (answer === null || event.task_id === null) return [];
  const message = `Answer to "${ellipsize(oneLine(approval.description ?? ""), MAX_QUESTION)}": ${answer}`;
  return [{ event_type: "task.comment", ...event, message }];
}

/** The comment with the answer repeats at most this many characters of the question. */
const MAX_QUESTION = 300;

/**
 * When the statement began, by the database's clock. The start of the transaction could be too early, because the transaction may
 * have waited for locks. The approval gate compares this time with `left_done_at`.
 */
const DECIDED_AT = sql`statement_timestamp()`;

interface Decision {
  status: Approval["status"];
  resolved_at: SQL | null;
  resolved_by_user_id: string | null;
}

const decisionUpdates = (ctx: Context, { id, board_id, payload, ...approval }: Approval, decision: Decision) => [
  ctx.db
    .update(approvals)
    .set({ ...decision, ...(isAside(approval) ? { payload } : {}), ...changedNow, updated_at: DECIDED_AT })
    .where(and(eq(approvals.id, id), eq(approvals.board_id, board_id))),
  ctx.db
    .update(approval_task_links)
    .set({ pending: decision.status === "pending" })
    .where(eq(approval_task_links.approval_id, id)),
];

const eventFields = (ctx: Context<User>, { organization_id, id: board_id }: BoardRow, { task_id }: Approval) => ({
  organization_id,
  board_id,
  task_id,
  user_id: ctx.actor.user_id,
});
