import { and, eq, getTableColumns, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Agent, Member, User } from "../context/actor.ts";
import { board_groups, boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import { preparedQuery } from "../db/prepared.ts";
import { rowsOf } from "../db/database.ts";
import type { Filter } from "../lists/filter.ts";
import { boardAccessDenied, DomainError, notVisible } from "../values/errors.ts";
import { organization_members } from "../schema/organization.sql.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { type FoundBoard, takePrefetchedBoard } from "../context/prefetched-board.ts";
import {
  isAdminBeyondBoards,
  mayRead,
  mayWrite,
  storedRights,
  mayReadAll,
  isGranted,
  readsAll,
  grants,
  mayWriteAll,
} from "./board-rights.ts";

export type BoardRow = typeof boards.$inferSelect;
export type BoardGroupRow = typeof board_groups.$inferSelect;

/**
 * Reads a board and checks that the caller may access it (docs/reference/conventions.md#board-access). A user needs rights from a
 * membership, an agent must belong to the board, and a main agent must belong to the board's gateway. Sends no statement if
 * authentication has just read the board.
 */
export async function boardFor(ctx: Context<User | Agent>, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  const { actor } = ctx;
  const board = await (actor.type === "agent" ? boardForAgent(ctx, actor, board_id) : boardForUser(ctx, actor, board_id, need));
  ctx.log.addFields({ organization_id: board.organization_id, board_id: board.id });
  return board;
}

async function boardForUser(ctx: Context, actor: User, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  const { board, rights } = takePrefetchedBoard(ctx, actor.user_id, board_id) ?? (await findForUser(ctx, actor, board_id));
  if (!board || !mayRead(rights)) throw notVisible();
  if (need === "write" && !mayWrite(rights)) throw boardAccessDenied();
  return board;
}

async function findForUser(ctx: Context, { user_id }: User, board_id: string): Promise<FoundBoard> {
  const [row] = await boardOfUserQuery(ctx.db).execute({ board_id, user_id });
  return { board: row?.board ?? null, rights: row ?? null };
}

const boardOfUserQuery = preparedQuery((db) =>
  db
    .select({
      board: getTableColumns(boards),
      ...storedRights(organization_members),
    })
    .from(boards)
    .innerJoin(
      organization_members,
      and(
        eq(organization_members.organization_id, boards.organization_id),
        eq(organization_members.user_id, sql.placeholder("user_id")),
      ),
    )
    .leftJoin(
      organization_board_access,
      and(
        eq(organization_board_access.organization_member_id, organization_members.id),
        eq(organization_board_access.board_id, boards.id),
      ),
    )
    .where(eq(boards.id, sql.placeholder("board_id"))),
);

async function boardForAgent(ctx: Context, actor: Agent, board_id: string): Promise<BoardRow> {
  const { agent_id, organization_id } = actor;
  const found = takePrefetchedBoard(ctx, agent_id, board_id);
  const board = found ? found.board : (await boardOfOrganizationQuery(ctx.db).execute({ board_id, organization_id }))[0];
  if (!board) throw notVisible();
  const isAssigned = actor.board_id === null ? board.gateway_id === actor.gateway_id : board.id === actor.board_id;
  if (!isAssigned) throw boardAccessDenied();
  return board;
}

const boardOfOrganizationQuery = preparedQuery((db) =>
  db
    .select()
    .from(boards)
    .where(and(eq(boards.id, sql.placeholder("board_id")), eq(boards.organization_id, sql.placeholder("organization_id")))),
);

/** Returns a filter of `boards` that keeps the boards of the active organization that the member may read. */
export function readableBoards(actor: Member): Filter {
  const { organization_id, member_id } = actor.active;
  const all = mayReadAll(actor);
  return {
    name: all ? "of the organization" : "granted",
    values: all ? { organization_id } : { organization_id, member_id },
    condition: (of) =>
      and(
        eq(boards.organization_id, of("organization_id") as string),
        all ? undefined : isGranted(of("member_id") as string, "read"),
      )!,
  };
}

/** The boards that a member may read in the active organization: all boards, or the boards with these sorted ids. */
export type VisibleBoards = "all" | readonly string[];

/**
 * Returns the boards that each of these members may read now, in the order of the members. With `board_id`, only this board is
 * checked. One statement serves all members. Without `board_id`, members with a right to all boards need no statement.
 */
export async function readVisibleBoards(ctx: Context, members: readonly Member[], board_id?: string): Promise<VisibleBoards[]> {
  const canReadAll = (member: Member) => board_id === undefined && mayReadAll(member);
  const member_ids = members.filter((member) => !canReadAll(member)).map(({ active }) => active.member_id);
  const visible = member_ids.length > 0 ? await queryVisibleBoards(ctx, member_ids, board_id) : new Map<string, string[]>();
  return members.map((member) => (canReadAll(member) ? "all" : (visible.get(member.active.member_id) ?? [])));
}

/** Returns board ids by member id. A member who may not read any of the boards has no entry. */
async function queryVisibleBoards(ctx: Context, member_ids: string[], board_id?: string): Promise<Map<string, string[]>> {
  const member = sql`${organization_members} as member`;
  const access = sql`${organization_board_access} as access on access.organization_member_id = member.id`;
  const isOneOfMembers = sql`member.id = any(${sql.param(member_ids)}::uuid[])`;
  const visible = board_id
    ? sql`${boards} as board join ${member} on member.organization_id = board.organization_id
        left join ${access} and access.board_id = board.id
        where board.id = ${board_id} and ${isOneOfMembers} and (${readsAll} or ${grants("read")})`
    : sql`${member} join ${access}
        join ${boards} as board on board.id = access.board_id and board.organization_id = member.organization_id
        where ${isOneOfMembers} and ${grants("read")}`;
  const result = await ctx.db.execute(sql`
    select member.id as member_id, array_agg(board.id order by board.id) as board_ids from ${visible} group by member.id`);
  return new Map(
    rowsOf<{ member_id: string; board_ids: string[] }>(result).map(({ member_id, board_ids }) => [member_id, board_ids]),
  );
}

/** Returns a condition on `boards`: whether the user may read the board, which may be in any organization. */
export function readableBoardsOfUser(actor: User): SQL {
  return sql`exists (select 1 from ${organization_members} as member
    left join ${organization_board_access} as access on access.organization_member_id = member.id and access.board_id = ${boards}.id
    where member.organization_id = ${boards}.organization_id and member.user_id = ${actor.user_id}
      and (${readsAll} or ${grants("read")}))`;
}

/** Returns a filter of `boards` that keeps the board of an agent or, for a main agent, all boards of its gateway. */
export function boardsOfAgent({ organization_id, gateway_id, board_id }: Agent): Filter {
  const isMain = board_id === null;
  return {
    name: isMain ? "of the gateway" : "of the agent",
    values: { organization_id, gateway_id, board_id },
    condition: (of) =>
      and(
        eq(boards.organization_id, of("organization_id") as string),
        isMain ? eq(boards.gateway_id, of("gateway_id") as string) : eq(boards.id, of("board_id") as string),
      )!,
  };
}

/**
 * Reads a board group in one statement and checks that the caller may access it. A right to all boards or to one of the group's
 * boards gives access to the group. Only admins may access an empty group, except keys for some boards. An agent belongs to its
 * board's group.
 */
export async function groupFor(ctx: Context<Member | Agent>, group_id: string, need: "read" | "write"): Promise<BoardGroupRow> {
  const { actor } = ctx;
  const { organization_id } = actor.type === "agent" ? actor : actor.active;
  const [row] = await ctx.db
    .select({
      group: getTableColumns(board_groups),
      readable: actor.type === "agent" ? sql<boolean>`true` : isGroupOpen(actor, "read", actor.active.member_id),
      allowed: actor.type === "agent" ? agentGroupCondition(actor) : isGroupOpen(actor, need, actor.active.member_id),
    })
    .from(board_groups)
    .where(and(eq(board_groups.id, group_id), eq(board_groups.organization_id, organization_id)));
  if (!row?.readable) throw notVisible();
  if (!row.allowed) throw boardAccessDenied();
  return row.group;
}

/**
 * Checks that a person may put a board into this group, and locks the group's id. People and agents with rights to the board get
 * rights to the group, so the person needs the right to write to the group. Admins do not need it, because they can give themselves
 * such rights anyway.
 */
export async function requireJoinableGroup(ctx: Context, actor: Member, group_id: string): Promise<void> {
  const { organization_id, member_id } = actor.active;
  const isOpen = (need: "read" | "write") =>
    isAdminBeyondBoards(actor) ? sql<boolean>`true` : isGroupOpen(actor, need, member_id);
  const [group] = await ctx.db
    .select({ readable: isOpen("read"), writable: isOpen("write") })
    .from(board_groups)
    .where(and(eq(board_groups.id, group_id), eq(board_groups.organization_id, organization_id)))
    .for("key share");
  if (!group?.readable) throw new DomainError("invalid", "board_group_id is invalid");
  if (!group.writable) throw boardAccessDenied();
}

/** Returns a filter of `board_groups` that keeps the groups of the active organization that the member may read. */
export function readableGroups(actor: Member): Filter {
  const { organization_id, member_id } = actor.active;
  return {
    name: mayReadAll(actor) ? "of the organization" : `granted to ${isAdminBeyondBoards(actor) ? "an admin" : "a member"}`,
    values: { organization_id, member_id },
    condition: (of) =>
      and(
        eq(board_groups.organization_id, of("organization_id") as string),
        isGroupOpen(actor, "read", of("member_id") as string),
      )!,
  };
}

function isGroupOpen(actor: Member, need: "read" | "write", member_id: string | Placeholder): SQL<boolean> {
  if (need === "read" ? mayReadAll(actor) : mayWriteAll(actor)) return sql`true`;
  const board = sql`from ${boards} as board where board.board_group_id = ${board_groups}.id`;
  const granted = sql<boolean>`exists (select 1 ${board} and ${isGranted(member_id, need, sql`board.id`)})`;
  return isAdminBeyondBoards(actor) ? sql<boolean>`(${granted} or not exists (select 1 ${board}))` : granted;
}

/** Returns a condition: whether a person may now read a group, by the rules of `groupFor`. The arguments are columns or values. */
export const mayReadGroupNow = (of: Record<"user_id" | "organization_id" | "group_id", SQLWrapper>): SQL =>
  sql`exists (select 1 from ${organization_members} as member
    join ${board_groups} as place on place.id = ${of.group_id} and place.organization_id = member.organization_id
    where member.organization_id = ${of.organization_id} and member.user_id = ${of.user_id}
      and (${readsAll} or (member.role <> 'member' and not exists (select 1 from ${boards} as board where board.board_group_id = place.id))
        or exists (select 1 from ${organization_board_access} as access
          join ${boards} as board on board.id = access.board_id and board.board_group_id = place.id
          where access.organization_member_id = member.id and ${grants("read")})))`;

function agentGroupCondition(actor: Agent): SQL<boolean> {
  const assignedBoard = actor.board_id === null ? sql`board.gateway_id = ${actor.gateway_id}` : sql`board.id = ${actor.board_id}`;
  return sql`exists (select 1 from ${boards} as board where board.board_group_id = ${board_groups}.id and ${assignedBoard})`;
}
