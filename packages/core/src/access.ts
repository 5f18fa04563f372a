import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Agent, Member, User } from "./actor.ts";
import { boards } from "./board/board.sql.ts";
import type { Context } from "./context.ts";
import { boardDenied, notFound } from "./errors.ts";
import { organization_board_access, organization_members } from "./organization/organization.sql.ts";

export type BoardRow = typeof boards.$inferSelect;

/**
 * The board a caller asks for, or the reason why not (contract conventions.md §8), in one statement. The only place that
 * knows who may touch a board: a user by the membership in the board's organization, an agent by its own board, a main
 * agent by its gateway.
 */
export function boardFor(ctx: Context<User | Agent>, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  return ctx.actor.type === "agent" ? agentBoard(ctx, ctx.actor, board_id) : userBoard(ctx, ctx.actor, board_id, need);
}

async function userBoard(ctx: Context, actor: User, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  const [row] = await ctx.db
    .select({
      board: getTableColumns(boards),
      all_read: organization_members.all_boards_read,
      all_write: organization_members.all_boards_write,
      can_read: organization_board_access.can_read,
      can_write: organization_board_access.can_write,
    })
    .from(boards)
    .innerJoin(
      organization_members,
      and(eq(organization_members.organization_id, boards.organization_id), eq(organization_members.user_id, actor.user_id)),
    )
    .leftJoin(
      organization_board_access,
      and(
        eq(organization_board_access.organization_member_id, organization_members.id),
        eq(organization_board_access.board_id, boards.id),
      ),
    )
    .where(eq(boards.id, board_id));
  if (!row) throw notFound();
  const writable = row.all_write || row.can_write === true;
  const readable = writable || row.all_read || row.can_read === true;
  if (!readable) throw notFound();
  if (need === "write" && !writable) throw boardDenied();
  return row.board;
}

async function agentBoard(ctx: Context, actor: Agent, board_id: string): Promise<BoardRow> {
  const [board] = await ctx.db
    .select()
    .from(boards)
    .where(and(eq(boards.id, board_id), eq(boards.organization_id, actor.organization_id)));
  if (!board) throw notFound();
  const own = actor.board_id === null ? board.gateway_id === actor.gateway_id : board.id === actor.board_id;
  if (!own) throw boardDenied();
  return board;
}

/** Boards of the active organization that the member may read, as a condition on `boards`. */
export function readableBoards(actor: Member): SQL {
  const { organization_id, member_id, all_boards_read, all_boards_write } = actor.active;
  const inOrganization = eq(boards.organization_id, organization_id);
  if (all_boards_read || all_boards_write) return inOrganization;
  return and(
    inOrganization,
    sql`exists (select 1 from ${organization_board_access} as access where access.organization_member_id = ${member_id}
      and access.board_id = ${boards}.id and (access.can_read or access.can_write))`,
  )!;
}

/** Boards an agent works on, as a condition on `boards`: its own, or all of its gateway for a main agent. */
export function boardsOfAgent(actor: Agent): SQL {
  const inOrganization = eq(boards.organization_id, actor.organization_id);
  const own = actor.board_id === null ? eq(boards.gateway_id, actor.gateway_id) : eq(boards.id, actor.board_id);
  return and(inOrganization, own)!;
}
