import { and, asc, count, desc, eq, isNull, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor, boardsOfAgent, readableBoardsOfUser } from "../organization/access.ts";
import { agents } from "../schema/agent.sql.ts";
import { toAgent } from "../agent/agent.ts";
import { approvals } from "../schema/approval.sql.ts";
import { type CallerContext, type Context, readAll } from "../context/context.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { tasks } from "../schema/task.sql.ts";
import { TaskStatus } from "../task/task-status.ts";
import { isPaused } from "../memory/paused.ts";
import { Board, toBoard } from "./board.ts";
import { boards } from "../schema/board.sql.ts";
import { lazyObject } from "../values/wire.ts";
import { readersOf } from "../organization/board-rights.ts";
import { conditionOf } from "../lists/filter.ts";

export const MAX_AGENTS = 50;
export const MAX_PEOPLE = 20;

export const BoardOverview = lazyObject(() => ({
  board: Board.pick({
    id: true,
    name: true,
    description: true,
    objective: true,
    require_approval_for_done: true,
    require_review_before_done: true,
    comment_required_for_review: true,
    block_status_changes_with_pending_approval: true,
    only_lead_can_change_status: true,
  }).extend({ status: z.enum(["active", "paused"]) }),
  agents: z.array(z.object({ id: z.string(), name: z.string(), status: z.string(), is_board_lead: z.boolean() })),
  people: z.array(z.object({ id: z.string(), name: z.string(), role: z.string() })),
  task_counts: z.record(TaskStatus, z.int()),
  pending_approvals: z.int(),
}));
export type BoardOverview = z.infer<typeof BoardOverview>;

/**
 * Returns what a caller needs to know before working on a board: the rules, the people and agents, and the amount of work. One
 * agent or person above the maximum shows that there are more.
 */
export async function getBoardOverview(ctx: CallerContext, board_id: string): Promise<BoardOverview> {
  const board = await boardFor(ctx, board_id, "read");
  const [[state], boardAgents, people, counts, [pending]] = await readAll(ctx, [
    async () => ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id)),
    () => readAgents(ctx, board.id),
    () => readPeople(ctx, board),
    async () =>
      ctx.db
        .select({ status: tasks.status, total: count() })
        .from(tasks)
        .where(eq(tasks.board_id, board.id))
        .groupBy(tasks.status),
    async () =>
      ctx.db
        .select({ total: count() })
        .from(approvals)
        .where(and(eq(approvals.board_id, board.id), eq(approvals.status, "pending"))),
  ]);
  const task_counts = Object.fromEntries(TaskStatus.options.map((status) => [status, 0])) as BoardOverview["task_counts"];
  for (const { status, total } of counts) task_counts[status] = total;
  return {
    board: BoardOverview.shape.board.parse({ ...toBoard(board), status: state?.paused ? "paused" : "active" }),
    agents: boardAgents,
    people,
    task_counts,
    pending_approvals: pending!.total,
  };
}

async function readAgents(ctx: Context, board_id: string): Promise<BoardOverview["agents"]> {
  const rows = await ctx.db
    .select()
    .from(agents)
    .where(eq(agents.board_id, board_id))
    .orderBy(desc(agents.is_board_lead), asc(agents.created_at), asc(agents.id))
    .limit(MAX_AGENTS + 1);
  return rows.map((row) => {
    const { id, name, status, is_board_lead } = toAgent(row, ctx.now());
    return { id, name, status, is_board_lead };
  });
}

/** Returns the members who may read the board, oldest first, with the names that the chat shows. */
async function readPeople(ctx: Context, board: { id: string; organization_id: string }): Promise<BoardOverview["people"]> {
  return ctx.db
    .select({
      id: users.id,
      name: sql<string>`coalesce(nullif(${users.preferred_name}, ''), nullif(${users.name}, ''), 'User')`,
      role: organization_members.role,
    })
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .where(and(readersOf(board), isNull(users.service_organization_id)))
    .orderBy(asc(organization_members.created_at), asc(organization_members.id))
    .limit(MAX_PEOPLE + 1);
}

export const BoardLabel = lazyObject(() => Board.pick({ id: true, name: true }).shape);

/** Lists the boards that the caller may read, newest first. If the caller is a person, the boards may be in any organization. */
export function listReadableBoards(ctx: CallerContext, limit: number): Promise<z.infer<typeof BoardLabel>[]> {
  const { actor } = ctx;
  return ctx.db
    .select({ id: boards.id, name: boards.name })
    .from(boards)
    .where(actor.type === "agent" ? conditionOf(boardsOfAgent(actor)) : readableBoardsOfUser(actor))
    .orderBy(desc(boards.created_at), desc(boards.id))
    .limit(limit);
}
