import { and, eq } from "drizzle-orm";
import type { BoardGroupRow, BoardRow } from "../organization/access.ts";
import type { Context } from "../context/context.ts";
import { actingAs } from "../db/change-actor.ts";
import { notFound } from "../values/errors.ts";
import { board_groups, boards } from "../schema/board.sql.ts";

/**
 * Locks a board until the transaction ends. Lock the board before rows on it, in the same order as the removal of a board.
 * Otherwise the two transactions can deadlock.
 */
export async function lockBoard(ctx: Context, { id, organization_id }: BoardRow): Promise<BoardRow> {
  const [row] = await ctx.db
    .select()
    .from(boards)
    .where(and(eq(boards.id, id), eq(boards.organization_id, organization_id), actingAs(ctx)))
    .for("update");
  if (!row) throw notFound();
  return row;
}

/** Locks a board group until the transaction ends. */
export async function lockBoardGroup(ctx: Context, { id, organization_id }: BoardGroupRow): Promise<BoardGroupRow> {
  const [row] = await ctx.db
    .select()
    .from(board_groups)
    .where(and(eq(board_groups.id, id), eq(board_groups.organization_id, organization_id), actingAs(ctx)))
    .for("update");
  if (!row) throw notFound();
  return row;
}
