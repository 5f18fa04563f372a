import { and, count, desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor } from "../organization/access.ts";
import type { Agent, User } from "../context/actor.ts";
import { agents } from "../schema/agent.sql.ts";
import { AgentRead, LARGE_AGENT_FIELDS, toAgent } from "../agent/agent.ts";
import { arrayLimit } from "../lists/page.ts";
import { approval_task_links, approvals } from "../schema/approval.sql.ts";
import { Approval, readApprovals } from "../approval/approval.ts";
import { type Context, readAll } from "../context/context.ts";
import { isNotBlank } from "../db/blank.ts";
import { readShortened, toShortened, truncatable } from "../lists/large-fields.ts";
import { board_memory } from "../schema/memory.sql.ts";
import { LARGE_MEMORY_FIELDS, MemoryEntry, toMemoryEntry } from "../memory/memory.ts";
import { tasks } from "../schema/task.sql.ts";
import { LARGE_TASK_FIELDS, Task, taskColumns, toTask } from "../task/task.ts";
import { Board, toBoard } from "./board.ts";
import { lazyObject } from "../values/wire.ts";

const MAX_TASKS = 5_000;
const MIN_AGENT_BYTES = 500;
const MAX_APPROVALS = 200;
const MAX_CHAT_MESSAGES = 200;

const SnapshotTask = lazyObject(() => ({
  ...Task.shape,
  assignee: z.string().nullable().describe("Name of the assigned agent."),
  approvals_count: z.int().describe("Number of approvals that are linked to the task."),
  approvals_pending_count: z.int().describe("Number of these approvals that are pending."),
})).meta({ id: "SnapshotTask", description: "A task in a board's snapshot." });
type SnapshotTask = z.infer<typeof SnapshotTask>;

export const BoardSnapshot = lazyObject(() => ({
  board: Board.describe("The board."),
  tasks: z.array(SnapshotTask).describe(`Its tasks, newest first, at most ${MAX_TASKS}.`),
  agents: z.array(AgentRead).describe("Its agents, newest first."),
  approvals: z.array(Approval).describe(`Its latest ${MAX_APPROVALS} approvals, newest first.`),
  chat_messages: z.array(MemoryEntry).describe(`The latest ${MAX_CHAT_MESSAGES} messages of its chat, oldest first.`),
  pending_approvals_count: z.int().describe("Number of pending approvals of the board."),
  ...truncatable,
})).meta({ id: "BoardSnapshot", description: "A board with everything on it." });
export type BoardSnapshot = z.infer<typeof BoardSnapshot>;

/** Returns a board with everything on it. Each part is read with one statement. */
export async function getBoardSnapshot(ctx: Context<User | Agent>, board_id: string): Promise<BoardSnapshot> {
  const board = await boardFor(ctx, board_id, "read");
  const [boardTasks, boardAgents, boardApprovals, chatMessages, pending_approvals_count] = await readAll(ctx, [
    () => readTasks(ctx, board.id),
    () => readAgents(ctx, board.id),
    () => readApprovals(ctx, eq(approvals.board_id, board.id), MAX_APPROVALS),
    () => readChat(ctx, board.id),
    () => countPending(ctx, board.id),
  ]);
  return {
    board: toBoard(board),
    tasks: boardTasks,
    agents: boardAgents,
    approvals: boardApprovals,
    chat_messages: chatMessages,
    pending_approvals_count,
  };
}

const linkCount = sql`select count(*) from ${approval_task_links} as link where link.task_id = ${tasks}.id`;
const approvals_count = sql`(${linkCount})`.mapWith(Number);
const approvals_pending_count = sql`(${linkCount} and link.pending)`.mapWith(Number);

async function readTasks(ctx: Context, board_id: string): Promise<SnapshotTask[]> {
  const fields = { ...taskColumns, assignee: agents.name, approvals_count, approvals_pending_count };
  const rows = await readShortened(ctx, { fields, large: LARGE_TASK_FIELDS, max_rows: MAX_TASKS }, (columns) =>
    ctx.db
      .select(columns)
      .from(tasks)
      .leftJoin(agents, eq(agents.id, tasks.assigned_agent_id))
      .where(eq(tasks.board_id, board_id))
      .orderBy(desc(tasks.created_at), desc(tasks.id))
      .limit(MAX_TASKS),
  );
  return rows.map((row) =>
    toShortened(row, ({ assignee, approvals_count, approvals_pending_count, ...task }) => ({
      ...toTask(task),
      assignee,
      approvals_count,
      approvals_pending_count,
    })),
  );
}

async function readAgents(ctx: Context, board_id: string): Promise<AgentRead[]> {
  const max_rows = arrayLimit(ctx, MIN_AGENT_BYTES);
  const rows = await readShortened(ctx, { fields: getTableColumns(agents), large: LARGE_AGENT_FIELDS, max_rows }, (columns) =>
    ctx.db
      .select(columns)
      .from(agents)
      .where(eq(agents.board_id, board_id))
      .orderBy(desc(agents.created_at), desc(agents.id))
      .limit(max_rows),
  );
  return rows.map((row) => toShortened(row, (agent) => toAgent(agent, ctx.now())));
}

async function readChat(ctx: Context, board_id: string): Promise<MemoryEntry[]> {
  const rows = await readShortened(
    ctx,
    { fields: getTableColumns(board_memory), large: LARGE_MEMORY_FIELDS, max_rows: MAX_CHAT_MESSAGES },
    (columns) =>
      ctx.db
        .select(columns)
        .from(board_memory)
        .where(and(eq(board_memory.board_id, board_id), eq(board_memory.is_chat, true), isNotBlank(board_memory.content)))
        .orderBy(desc(board_memory.created_at), desc(board_memory.id))
        .limit(MAX_CHAT_MESSAGES),
  );
  return rows.toReversed().map((row) => toShortened(row, toMemoryEntry));
}

async function countPending(ctx: Context, board_id: string): Promise<number> {
  const [row] = await ctx.db
    .select({ total: count() })
    .from(approvals)
    .where(and(eq(approvals.board_id, board_id), eq(approvals.status, "pending")));
  return row!.total;
}
