import { and, eq } from "drizzle-orm";
import { newEvents } from "../activity/activity.ts";
import { type BoardRow, boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import { newBoardEvents } from "../board-event/board-event.ts";
import type { Context } from "../context.ts";
import { repeatableTransaction } from "../db/giving-way.ts";
import { writeTogether } from "../db/together.ts";
import { DomainError, notFound } from "../errors.ts";
import { oneLine } from "../wire.ts";
import { type Approval, readApproval } from "./approval.ts";
import { approvalBoardEvents } from "./board-events.ts";
import { approval_task_links, approvals } from "./approval.sql.ts";
import { holdTasks, keepOnePending, requireNonePending } from "./pending.ts";
import { type CreateApproval, linkedTaskIds, payloadOf } from "./request.ts";

type Asking = Context<User | Agent>;

/**
 * Asks for an approval (contract approvals-tags.md §3). Approval, links and events are one statement, so that it needs no
 * transaction unless there are tasks to hold.
 */
export async function createApproval(ctx: Asking, board_id: string, input: CreateApproval): Promise<Approval> {
  const board = await boardFor(ctx, board_id, "write");
  const agent_id = await whoAsks(ctx, board, input);
  const approval = { id: crypto.randomUUID(), agent_id, task_ids: linkedTaskIds(input) };
  const { task_ids } = approval;
  if (task_ids.length === 0) return store(ctx, board, approval, input);
  return keepOnePending(ctx, board, task_ids, () =>
    repeatableTransaction(ctx, async (ctx) => {
      const found = await holdTasks(ctx, board, task_ids);
      const missing_task_ids = task_ids.filter((id) => !found.includes(id));
      if (missing_task_ids.length > 0)
        throw new DomainError("not_found", "One or more tasks do not exist on this board.", { fields: { missing_task_ids } });
      await requireNonePending(ctx, board, task_ids);
      return store(ctx, board, approval, input);
    }),
  );
}

/** The agent that asks: the caller, or the agent of the board for which a person writes it down. */
async function whoAsks(ctx: Asking, board: BoardRow, { agent_id }: CreateApproval): Promise<string | null> {
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

async function store(ctx: Asking, board: BoardRow, asked: NewApproval, input: CreateApproval): Promise<Approval> {
  const { id, agent_id, task_ids } = asked;
  const { action_type, confidence, rubric_scores } = input;
  const task_id = task_ids[0] ?? null;
  const links = task_ids.map((task_id, position) => ({ approval_id: id, task_id, position, pending: true }));
  const event = {
    organization_id: board.organization_id,
    board_id: board.id,
    task_id,
    ...(ctx.actor.type === "agent" ? { agent_id: ctx.actor.agent_id } : { user_id: ctx.actor.user_id }),
  };
  const what = oneLine(action_type);
  await writeTogether(ctx, [
    ctx.db
      .insert(approvals)
      .values({ id, board_id: board.id, agent_id, action_type, payload: payloadOf(input), confidence, rubric_scores, task_id }),
    ...(links.length > 0 ? [ctx.db.insert(approval_task_links).values(links)] : []),
    newEvents(ctx, [
      { event_type: "approval.created", message: `Approval created: ${what}.`, ...event },
      { event_type: "approval.requested", message: `Approval requested: ${what}.`, ...event },
    ]),
    ...newBoardEvents(ctx, approvalBoardEvents(board, { id, status: "pending", task_ids })),
  ]);
  return readApproval(ctx, board.id, id);
}
