import { and, eq } from "drizzle-orm";
import type { BoardGroupRow, BoardRow } from "../access.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { board_groups, boards } from "./board.sql.ts";

/** The board, held until the transaction ends. It comes first: whoever removes a board takes it before what is on it. */
export async function lockBoard(ctx: Context, { id, organization_id }: BoardRow): Promise<BoardRow> {
  const [row] = await ctx.db
    .select()
    .from(boards)
    .where(and(eq(boards.id, id), eq(boards.organization_id, organization_id)))
    .for("update");
  if (!row) throw notFound();
  return row;
}

/** The same for a group. */
export async function lockGroup(ctx: Context, { id, organization_id }: BoardGroupRow): Promise<BoardGroupRow> {
  const [row] = await ctx.db
    .select()
    .from(board_groups)
    .where(and(eq(board_groups.id, id), eq(board_groups.organization_id, organization_id)))
    .for("update");
  if (!row) throw notFound();
  return row;
}
