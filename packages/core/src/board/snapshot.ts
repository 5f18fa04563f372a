import { and, count, desc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../access.ts";
import type { Agent, User } from "../actor.ts";
import { agents } from "../agent/agent.sql.ts";
import { AgentRead, toAgent } from "../agent/agent.ts";
import { approval_task_links, approvals } from "../approval/approval.sql.ts";
import { Approval, readApprovals } from "../approval/approval.ts";
import type { Context } from "../context.ts";
import { board_memory } from "../memory/memory.sql.ts";
import { MemoryEntry, toEntry } from "../memory/memory.ts";
import { tasks } from "../task/task.sql.ts";
import { Task, taskColumns, toTask } from "../task/task.ts";
import { Board, toBoard } from "./board.ts";

const MAX_TASKS = 5_000;
const MAX_APPROVALS = 200;
const MAX_CHAT_MESSAGES = 200;

const SnapshotTask = z
  .object({
    ...Task.shape,
    assignee: z.string().nullable().describe("Name of the agent that works on it."),
    approvals_count: z.int().describe("How many approvals are linked to it."),
    approvals_pending_count: z.int().describe("How many of them are pending."),
  })
  .meta({ id: "SnapshotTask", description: "A task as a board's overview shows it." });
type SnapshotTask = z.infer<typeof SnapshotTask>;

export const BoardSnapshot = z
  .object({
    board: Board.describe("The board."),
    tasks: z.array(SnapshotTask).describe(`Its tasks, newest first, ${MAX_TASKS} at the most.`),
    agents: z.array(AgentRead).describe("Its agents, newest first."),
    approvals: z.array(Approval).describe(`Its latest ${MAX_APPROVALS} approvals, newest first.`),
    chat_messages: z.array(MemoryEntry).describe(`The latest ${MAX_CHAT_MESSAGES} messages of its chat, oldest first.`),
    pending_approvals_count: z.int().describe("How many approvals of the board are pending."),
  })
  .meta({ id: "BoardSnapshot", description: "Everything a board's overview shows, at once." });
export type BoardSnapshot = z.infer<typeof BoardSnapshot>;

/** A board with all that is on it: one statement for each part, however much there is. */
export async function getBoardSnapshot(ctx: Context<User | Agent>, board_id: string): Promise<BoardSnapshot> {
  const board = await boardFor(ctx, board_id, "read");
  const [own, team, asked, chat, pending_approvals_count] = await Promise.all([
    readTasks(ctx, board.id),
    ctx.db.select().from(agents).where(eq(agents.board_id, board.id)).orderBy(desc(agents.created_at), desc(agents.id)),
    readApprovals(ctx, eq(approvals.board_id, board.id), { limit: MAX_APPROVALS }),
    readChat(ctx, board.id),
    countPending(ctx, board.id),
  ]);
  return {
    board: toBoard(board),
    tasks: own,
    agents: team.map((row) => toAgent(row, ctx.now())),
    approvals: asked,
    chat_messages: chat,
    pending_approvals_count,
  };
}

const linked = sql`select count(*) from ${approval_task_links} as link where link.task_id = ${tasks}.id`;
const approvals_count = sql`(${linked})`.mapWith(Number);
const approvals_pending_count = sql`(${linked} and link.pending)`.mapWith(Number);

async function readTasks(ctx: Context, board_id: string): Promise<SnapshotTask[]> {
  const rows = await ctx.db
    .select({ ...taskColumns, assignee: agents.name, approvals_count, approvals_pending_count })
    .from(tasks)
    .leftJoin(agents, eq(agents.id, tasks.assigned_agent_id))
    .where(eq(tasks.board_id, board_id))
    .orderBy(desc(tasks.created_at), desc(tasks.id))
    .limit(MAX_TASKS);
  return rows.map(({ assignee, approvals_count, approvals_pending_count, ...row }) => ({
    ...toTask(row),
    assignee,
    approvals_count,
    approvals_pending_count,
  }));
}

async function readChat(ctx: Context, board_id: string): Promise<MemoryEntry[]> {
  const rows = await ctx.db
    .select()
    .from(board_memory)
    .where(and(eq(board_memory.board_id, board_id), eq(board_memory.is_chat, true), sql`${board_memory.content} ~ '\\S'`))
    .orderBy(desc(board_memory.created_at), desc(board_memory.id))
    .limit(MAX_CHAT_MESSAGES);
  return rows.toReversed().map(toEntry);
}

async function countPending(ctx: Context, board_id: string): Promise<number> {
  const [found] = await ctx.db
    .select({ total: count() })
    .from(approvals)
    .where(and(eq(approvals.board_id, board_id), eq(approvals.status, "pending")));
  return found!.total;
}
