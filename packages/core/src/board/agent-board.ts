import { and, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, boardsOfAgent } from "../access.ts";
import type { Agent } from "../actor.ts";
import type { Context } from "../context.ts";
import { newestFirst, toOrderBy } from "../keyset.ts";
import { isPaused } from "../memory/paused.ts";
import { type Page, type PageQuery, readShortenedPage } from "../page.ts";
import { readSearchPage } from "../search-page.ts";
import { Board, LARGE_BOARD_FIELDS, searchedBoards, toBoard } from "./board.ts";
import { boards } from "./board.sql.ts";

export const AgentBoard = z
  .object({
    ...Board.shape,
    status: z.enum(["active", "paused"]).describe("`paused` when the newest `/pause` or `/resume` in the chat is `/pause`."),
  })
  .meta({ id: "AgentBoard", description: "A board as its agents see it." });
export type AgentBoard = z.infer<typeof AgentBoard>;

const boardOrder = newestFirst(boards);

interface AgentBoardQuery extends PageQuery {
  q?: string | undefined;
}

const toAgentBoard = ({ paused, ...row }: BoardRow & { paused: boolean }): AgentBoard => ({
  ...toBoard(row),
  status: paused ? "paused" : "active",
});

/** The boards that the agent works on, newest first, with their state. */
export function listAgentBoards(ctx: Context<Agent>, query: AgentBoardQuery): Promise<Page<AgentBoard>> {
  const { organization_id } = ctx.actor;
  const condition = boardsOfAgent(ctx.actor);
  const columns = { ...getTableColumns(boards), paused: isPaused };
  const list = { name: "boards of an agent", owner: ctx.actor.agent_id, order: boardOrder, columns, large: LARGE_BOARD_FIELDS };
  if (query.q !== undefined) {
    const search = { ...searchedBoards, owners: [organization_id], text: query.q };
    return readSearchPage(ctx, query, { ...list, where: condition, search }, toAgentBoard);
  }
  const total = ctx.db.$count(boards, condition);
  return readShortenedPage(
    ctx,
    query,
    {
      ...list,
      total,
      select: (columns, { after, limit, offset }) =>
        ctx.db
          .select(columns)
          .from(boards)
          .where(and(condition, after))
          .orderBy(...toOrderBy(boardOrder))
          .limit(limit)
          .offset(offset),
    },
    toAgentBoard,
  );
}

export async function getAgentBoard(ctx: Context<Agent>, board_id: string): Promise<AgentBoard> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id));
  return { ...toBoard(board), status: row?.paused ? "paused" : "active" };
}
