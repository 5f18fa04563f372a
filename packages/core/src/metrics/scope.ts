import { and, eq, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Member } from "../context/actor.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { createStatementCache } from "../db/prepared.ts";
import { notFound } from "../values/errors.ts";
import { readableBoards } from "../organization/access.ts";
import { hasLongBacklog } from "./count-backlog.ts";
import { keyOf, preparedWhere, valuesOf } from "../lists/filter.ts";

export interface Scope {
  board_id?: string | undefined;
  group_id?: string | undefined;
}

/**
 * Returns the ids of the active organization's boards that the member may read, filtered by board and group, and whether there is a
 * long backlog to count first. Throws `not_found` for a board that the member may not read. A group is found even if the member may
 * not read any of its boards.
 */
export async function readScope(
  ctx: Context<Member>,
  { board_id, group_id }: Scope,
): Promise<{ board_ids: string[]; has_long_backlog: boolean }> {
  const filters = [readableBoards(ctx.actor)];
  const statement = statements.get(`${keyOf(filters)}/${board_id !== undefined}/${group_id !== undefined}`, () =>
    selectScope(preparedWhere(filters), { board: board_id !== undefined, group: group_id !== undefined }),
  );
  const { organization_id } = ctx.actor.active;
  const result = await statement.execute(ctx.db, { ...valuesOf(filters), organization_id, board_id, group_id });
  const { board_found, group_found, ...read } = rowsOf<ScopeRow>(result)[0]!;
  if (!board_found || !group_found) throw notFound();
  return read;
}

interface ScopeRow {
  board_ids: string[];
  has_long_backlog: boolean;
  board_found: boolean;
  group_found: boolean;
}

const statements = createStatementCache<unknown>();

function selectScope(readable: SQL, named: { board: boolean; group: boolean }): SQL {
  const board = named.board ? eq(boards.id, sql.placeholder("board_id")) : undefined;
  const inGroup = named.group ? eq(boards.board_group_id, sql.placeholder("group_id")) : undefined;
  const group = and(
    eq(board_groups.organization_id, sql.placeholder("organization_id")),
    eq(board_groups.id, sql.placeholder("group_id")),
  );
  return sql`select
    array(select ${boards.id} from ${boards} where ${and(readable, board, inGroup)}) as board_ids,
    ${board ? sql`exists (select 1 from ${boards} where ${and(readable, board)})` : sql`true`} as board_found,
    ${inGroup ? sql`exists (select 1 from ${board_groups} where ${group})` : sql`true`} as group_found,
    ${hasLongBacklog} as has_long_backlog`;
}

/** Returns the right side of a comparison `board_id = …` that matches any of these boards. */
export const anyOf = (board_ids: Placeholder) => sql`any(${board_ids}::uuid[])`;
