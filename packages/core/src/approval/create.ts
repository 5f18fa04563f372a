import { and, eq } from "drizzle-orm";
import { insertEvents } from "../activity/activity.ts";
import { type BoardRow, boardFor } from "../organization/access.ts";
import { actorColumns } from "../context/actor.ts";
import { outOfRunScope, requireInRunScope } from "../context/run-scope.ts";
import { agents } from "../schema/agent.sql.ts";
import { insertBoardEvents } from "../subscription/board-event.ts";
import { type CallerContext, transaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { oneLine } from "../values/wire.ts";
import { type Approval, readApproval } from "./approval.ts";
import { approvalBoardEvents } from "./board-events.ts";
import { isAside } from "./question.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { lockTasks, mapPendingConflict, requireNoPendingApproval } from "./pending.ts";
import { type CreateApproval, toLinkedTaskIds, toStoredPayload } from "./input.ts";

/**
 * Requests an approval (docs/reference/approvals.md#requesting-an-approval). One statement inserts the approval, its links and
 * its events, so a transaction is needed only to lock linked tasks.
 */
export async function createApproval(ctx: CallerContext, board_id: string, input: CreateApproval): Promise<Approval> {
  const board = await boardFor(ctx, board_id, "write");
  const agent_id = await requireRequestingAgent(ctx, board, input);
  const approval = { id: crypto.randomUUID(), agent_id, task_ids: toLinkedTaskIds(input) };
  const { task_ids } = approval;
  requireTasksOfRun(ctx, board_id, task_ids);
  if (task_ids.length === 0) return storeApproval(ctx, board, approval, input);
  return mapPendingConflict(ctx, board, task_ids, () =>
    transaction(ctx, async (ctx) => {
      const existing_ids = await lockTasks(ctx, board, task_ids);
      const missing_task_ids = task_ids.filter((id) => !existing_ids.includes(id));
      if (missing_task_ids.length > 0)
        throw new DomainError("not_found", "One or more tasks do not exist on this board.", { fields: { missing_task_ids } });
      if (!isAside(input)) await requireNoPendingApproval(ctx, board, task_ids);
      return storeApproval(ctx, board, approval, input);
    }),
  );
}

/** Throws if the caller has a run token and requests an approval for anything but the task of its run. */
function requireTasksOfRun({ actor }: CallerContext, board_id: string, task_ids: readonly string[]): void {
  if (actor.type === "agent" && actor.run && task_ids.length === 0) throw outOfRunScope();
  for (const task_id of task_ids) requireInRunScope(actor, { board_id, task_id });
}

/**
 * Returns the requesting agent: the calling agent, or the agent that a person specifies. Returns null if the person specifies none.
 */
async function requireRequestingAgent(ctx: CallerContext, board: BoardRow, { agent_id }: CreateApproval): Promise<string | null> {
  if (ctx.actor.type === "agent") return ctx.actor.agent_id;
  if (agent_id === null) return null;
  const [agent] = await ctx.db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.id, agent_id), eq(agents.board_id, board.id)));
  if (!agent) throw notFound();
  return agent.id;
}

interface NewApproval {
  id: string;
  agent_id: string | null;
  task_ids: readonly string[];
}

async function storeApproval(
  ctx: CallerContext,
  board: BoardRow,
  approval: NewApproval,
  input: CreateApproval,
): Promise<Approval> {
  const { id, agent_id, task_ids } = approval;
  const { action_type, confidence, rubric_scores } = input;
  const task_id = task_ids[0] ?? null;
  const links = task_ids.map((task_id, position) => ({ approval_id: id, task_id, position, pending: !isAside(input) }));
  const event = {
    organization_id: board.organization_id,
    board_id: board.id,
    task_id,
    ...actorColumns(ctx.actor),
  };
  const action = oneLine(action_type);
  await runBatch(ctx, [
    ctx.db.insert(approvals).values({
      id,
      board_id: board.id,
      agent_id,
      action_type,
      payload: toStoredPayload(input),
      confidence,
      rubric_scores,
      task_id,
    }),
    ...(links.length > 0 ? [ctx.db.insert(approval_task_links).values(links)] : []),
    insertEvents([
      { event_type: "approval.created", message: `Approval created: ${action}.`, ...event },
      { event_type: "approval.requested", message: `Approval requested: ${action}.`, ...event },
    ]),
    ...insertBoardEvents(ctx, approvalBoardEvents(board, { id, status: "pending", task_ids })),
  ]);
  return readApproval(ctx, board.id, id);
}
