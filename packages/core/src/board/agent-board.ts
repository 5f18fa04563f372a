import { and, eq, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { boardFor, preparedBoardsOfAgent } from "../access.ts";
import type { Agent } from "../actor.ts";
import type { Context } from "../context.ts";
import { newestFirst } from "../keyset.ts";
import { isPaused } from "../memory/paused.ts";
import type { Page, PageQuery } from "../page.ts";
import { readPreparedPage } from "../prepared-page.ts";
import { Board, boardsWithWords, LARGE_BOARD_FIELDS, selectBoards, toBoard } from "./board.ts";
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

/** The boards that the agent works on, newest first, with their state. */
export function listAgentBoards(ctx: Context<Agent>, query: AgentBoardQuery): Promise<Page<AgentBoard>> {
  const { q } = query;
  const { key, values, condition } = preparedBoardsOfAgent(ctx.actor);
  return readPreparedPage(
    ctx,
    query,
    {
      name: "boards of an agent",
      owner: ctx.actor.agent_id,
      order: boardOrder,
      columns: { ...getTableColumns(boards), paused: isPaused },
      large: LARGE_BOARD_FIELDS,
      key: q === undefined ? key : null,
      values,
      build: ({ after }) => {
        const where = and(condition(), q === undefined ? undefined : boardsWithWords(values.organization_id, q));
        return {
          total: ctx.db.$count(boards, where),
          select: (columns) => selectBoards(ctx.db, columns, and(where, after), boardOrder),
        };
      },
    },
    ({ paused, ...row }) => ({ ...toBoard(row), status: paused ? "paused" : "active" }),
  );
}

export async function getAgentBoard(ctx: Context<Agent>, board_id: string): Promise<AgentBoard> {
  const board = await boardFor(ctx, board_id, "read");
  const [row] = await ctx.db.select({ paused: isPaused }).from(boards).where(eq(boards.id, board.id));
  return { ...toBoard(board), status: row?.paused ? "paused" : "active" };
}
