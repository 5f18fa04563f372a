import { and, eq, sql } from "drizzle-orm";
import { readableBoards } from "../access.ts";
import type { Member } from "../actor.ts";
import { board_groups, boards } from "../board/board.sql.ts";
import type { Context } from "../context.ts";
import { rowsOf } from "../db/database.ts";
import { notFound } from "../errors.ts";

export interface Scope {
  board_id?: string | undefined;
  group_id?: string | undefined;
}

/**
 * The ids of the boards in scope: those that the member may read in the active organization, filtered by board and by group.
 * An unreadable board is not found. A group of the organization is found even when the member may read none of its boards.
 */
export async function readScope(ctx: Context<Member>, { board_id, group_id }: Scope): Promise<string[]> {
  const readable = readableBoards(ctx.actor);
  const { organization_id } = ctx.actor.active;
  const board = board_id === undefined ? undefined : eq(boards.id, board_id);
  const inGroup = group_id === undefined ? undefined : eq(boards.board_group_id, group_id);
  const group = and(eq(board_groups.organization_id, organization_id), group_id ? eq(board_groups.id, group_id) : undefined);
  const result = await ctx.db.execute(sql`select
    array(select ${boards.id} from ${boards} where ${and(readable, board, inGroup)}) as board_ids,
    ${board ? sql`exists (select 1 from ${boards} where ${and(readable, board)})` : sql`true`} as board_found,
    ${inGroup ? sql`exists (select 1 from ${board_groups} where ${group})` : sql`true`} as group_found`);
  const [row] = rowsOf<{ board_ids: string[]; board_found: boolean; group_found: boolean }>(result);
  if (!row!.board_found || !row!.group_found) throw notFound();
  return row!.board_ids;
}

/** The right side of `board_id =` for the boards of a scope. */
export const anyOf = (board_ids: readonly string[]) => sql`any(${sql.param([...board_ids])}::uuid[])`;
