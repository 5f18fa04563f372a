import { and, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { type BoardRow, boardFor, boardsOfAgentFilter } from "../organization/access.ts";
import type { Agent } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { newestFirst } from "../lists/keyset.ts";
import { isPaused } from "../memory/paused.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { where } from "../lists/filter.ts";
import { readPreparedPage } from "../lists/prepared-page.ts";
import { readSearchPage } from "../lists/search-page.ts";
import { Board, LARGE_BOARD_FIELDS, searchedBoards, selectBoards, toBoard } from "./board.ts";
import { boards } from "../schema/board.sql.ts";
import { lazyObject } from "../values/wire.ts";

export const AgentBoard = lazyObject(() => ({
  ...Board.shape,
  status: z.enum(["active", "paused"]).describe("`paused` when the newest `/pause` or `/resume` in the chat is `/pause`."),
})).meta({ id: "AgentBoard", description: "A board as its agents see it." });
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
  const columns = { ...getTableColumns(boards), paused: isPaused };
  const list = { name: "boards of an agent", owner: ctx.actor.agent_id, order: boardOrder, columns, large: LARGE_BOARD_FIELDS };
  const filters = [boardsOfAgentFilter(ctx.actor)];
  if (query.q !== undefined) {
    const search = { ...searchedBoards, owners: [ctx.actor.organization_id], text: query.q };
    return readSearchPage(ctx, query, { ...list, where: where(filters), search }, toAgentBoard);
  }
  return readPreparedPage(
    ctx,
    query,
    {
      ...list,
      filters,
      build: ({ where, after, limit }) => ({
        total: ctx.db.$count(boards, where),
        select: (columns) => selectBoards(ctx.db, columns, { where: and(where, after), limit }, boardOrder),
      }),
    },
    toAgentBoard,
  );
}

export async function getAgentBoard(ctx: Context<Agent>, board_id: string): Promise<AgentBoard> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id));
  return { ...toBoard(board), status: row?.paused ? "paused" : "active" };
}
