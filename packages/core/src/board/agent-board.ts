import { eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, boardsOfAgent } from "../organization/access.ts";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { newestFirst } from "../lists/keyset.ts";
import { isPaused } from "../memory/paused.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { Board, LARGE_BOARD_FIELDS, toBoard } from "./board.ts";
import { boards, boardWords } from "../schema/board.sql.ts";
import { lazyObject } from "../values/wire.ts";
import { listOf } from "../lists/list.ts";

export const AgentBoard = lazyObject(() => ({
  ...Board.shape,
  status: z.enum(["active", "paused"]).describe("`paused` when the newest `/pause` or `/resume` in the chat is `/pause`."),
})).meta({ id: "AgentBoard", description: "A board as its agents see it." });
export type AgentBoard = z.infer<typeof AgentBoard>;

interface AgentBoardQuery extends PageQuery {
  q?: string | undefined;
}

const toAgentBoard = ({ paused, ...row }: BoardRow & { paused: boolean }): AgentBoard => ({
  ...toBoard(row),
  status: paused ? "paused" : "active",
});

const agentBoardList = listOf({
  name: "boards of an agent",
  table: boards,
  columns: { ...getTableColumns(boards), paused: isPaused },
  large: LARGE_BOARD_FIELDS,
  order: newestFirst(boards),
  words: boardWords(boards),
});

/** Lists the boards that the agent works on, newest first, with their state. */
export const listAgentBoards = (ctx: Context<Agent>, query: AgentBoardQuery): Promise<Page<AgentBoard>> =>
  agentBoardList.read(ctx, query, {
    owner: ctx.actor.agent_id,
    filters: [boardsOfAgent(ctx.actor)],
    search_owners: [ctx.actor.organization_id],
    toItem: toAgentBoard,
  });

export async function getAgentBoard(ctx: Context<Agent>, board_id: string): Promise<AgentBoard> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id));
  return { ...toBoard(board), status: row?.paused ? "paused" : "active" };
}
