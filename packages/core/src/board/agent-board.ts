import { desc, eq, getTableColumns, sql } from "drizzle-orm";
import * as z from "zod";
import { boardFor, boardsOfAgent } from "../access.ts";
import type { Agent } from "../actor.ts";
import type { Context } from "../context.ts";
import { board_memory, pauseCommandList } from "../memory/memory.sql.ts";
import { type Page, type PageQuery, readShortenedPage } from "../page.ts";
import { Board, LARGE_BOARD_FIELDS, toBoard } from "./board.ts";
import { boards } from "./board.sql.ts";

export const AgentBoard = z
  .object({
    ...Board.shape,
    status: z.enum(["active", "paused"]).describe("`paused` when the newest `/pause` or `/resume` in the chat is `/pause`."),
  })
  .meta({ id: "AgentBoard", description: "A board as its agents see it." });
export type AgentBoard = z.infer<typeof AgentBoard>;

/** A board is paused when the newest pause command in its chat is `/pause`. The index `board_memory_commands` finds it. */
const isPaused = sql<boolean>`coalesce((
  select lower(trim(memory.content)) = '/pause' from ${board_memory} as memory
  where memory.board_id = ${boards}.id and memory.is_chat and lower(trim(memory.content)) in (${pauseCommandList})
  order by memory.created_at desc, memory.id desc limit 1), false)`;

/** The boards that the agent works on, newest first, with their state. */
export function listAgentBoards(ctx: Context<Agent>, query: PageQuery): Promise<Page<AgentBoard>> {
  const condition = boardsOfAgent(ctx.actor);
  const total = ctx.db.$count(boards, condition);
  return readShortenedPage(
    ctx,
    query,
    {
      columns: { ...getTableColumns(boards), paused: isPaused },
      large: LARGE_BOARD_FIELDS,
      total,
      select: (columns, limit, offset) =>
        ctx.db
          .select(columns)
          .from(boards)
          .where(condition)
          .orderBy(desc(boards.created_at), desc(boards.id))
          .limit(limit)
          .offset(offset),
    },
    ({ paused, ...row }) => ({ ...toBoard(row), status: paused ? "paused" : "active" }),
  );
}

export async function getAgentBoard(ctx: Context<Agent>, board_id: string): Promise<AgentBoard> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id));
  return { ...toBoard(board), status: row?.paused ? "paused" : "active" };
}
