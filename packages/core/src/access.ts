import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Agent, Member, User } from "./actor.ts";
import { board_groups, boards } from "./board/board.sql.ts";
import type { Context } from "./context.ts";
import { builtOnce } from "./db/built-once.ts";
import { rowsOf } from "./db/database.ts";
import { boardDenied, notFound } from "./errors.ts";
import { learn } from "./log.ts";
import { organization_board_access, organization_members } from "./organization/organization.sql.ts";

export type BoardRow = typeof boards.$inferSelect;
export type BoardGroupRow = typeof board_groups.$inferSelect;

/**
 * The board a caller asks for, or the reason why not (contract conventions.md §8), in one statement. The only place that
 * knows who may touch a board: a user by the membership in the board's organization, an agent by its own board, a main
 * agent by its gateway.
 */
export async function boardFor(ctx: Context<User | Agent>, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  const { actor } = ctx;
  const board = await (actor.type === "agent" ? agentBoard(ctx, actor, board_id) : userBoard(ctx, actor, board_id, need));
  learn(ctx.log, { organization_id: board.organization_id, board_id: board.id });
  return board;
}

async function userBoard(ctx: Context, actor: User, board_id: string, need: "read" | "write"): Promise<BoardRow> {
  const [row] = await boardOfUser(ctx.db).execute({ board_id, user_id: actor.user_id });
  if (!row) throw notFound();
  const writable = row.all_write || row.can_write === true;
  const readable = writable || row.all_read || row.can_read === true;
  if (!readable) throw notFound();
  if (need === "write" && !writable) throw boardDenied();
  return row.board;
}

const boardOfUser = builtOnce((db) =>
  db
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

async function agentBoard(ctx: Context, actor: Agent, board_id: string): Promise<BoardRow> {
  const [board] = await boardOfOrganization(ctx.db).execute({ board_id, organization_id: actor.organization_id });
  if (!board) throw notFound();
  const own = actor.board_id === null ? board.gateway_id === actor.gateway_id : board.id === actor.board_id;
  if (!own) throw boardDenied();
  return board;
}

const boardOfOrganization = builtOnce((db) =>
  db
    .select()
    .from(boards)
    .where(and(eq(boards.id, sql.placeholder("board_id")), eq(boards.organization_id, sql.placeholder("organization_id")))),
);

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

/** What a member sees of the active organization: all boards, or those with these ids, in the order of the ids. */
export type Sight = "all" | readonly string[];

/**
 * What each of these members may read at this moment, of all boards or of the one that is asked for: one statement for any
 * number of members, and none for those who have a right to all boards.
 */
export async function readSights(ctx: Context, members: readonly Member[], board_id?: string): Promise<Sight[]> {
  const seesAll = ({ active }: Member) => board_id === undefined && (active.all_boards_read || active.all_boards_write);
  const asked = members.filter((member) => !seesAll(member)).map(({ active }) => active.member_id);
  const found = asked.length > 0 ? await readSighted(ctx, asked, board_id) : new Map<string, string[]>();
  return members.map((member) => (seesAll(member) ? "all" : (found.get(member.active.member_id) ?? [])));
}

async function readSighted(ctx: Context, member_ids: string[], board_id?: string): Promise<Map<string, string[]>> {
  const member = sql`${organization_members} as member`;
  const access = sql`${organization_board_access} as access on access.organization_member_id = member.id`;
  const granted = sql`(access.can_read or access.can_write)`;
  const ofThese = sql`member.id = any(${sql.param(member_ids)}::uuid[])`;
  const sighted = board_id
    ? sql`${boards} as board join ${member} on member.organization_id = board.organization_id
        left join ${access} and access.board_id = board.id
        where board.id = ${board_id} and ${ofThese} and (member.all_boards_read or member.all_boards_write or ${granted})`
    : sql`${member} join ${access}
        join ${boards} as board on board.id = access.board_id and board.organization_id = member.organization_id
        where ${ofThese} and ${granted}`;
  const found = await ctx.db.execute(sql`
    select member.id as member_id, array_agg(board.id order by board.id) as board_ids from ${sighted} group by member.id`);
  return new Map(
    rowsOf<{ member_id: string; board_ids: string[] }>(found).map(({ member_id, board_ids }) => [member_id, board_ids]),
  );
}

/** Boards that a person may read, whichever organization is active, as a condition on `boards`. */
export function boardsOfUser(actor: User): SQL {
  return sql`exists (select 1 from ${organization_members} as member
    left join ${organization_board_access} as access on access.organization_member_id = member.id and access.board_id = ${boards}.id
    where member.organization_id = ${boards}.organization_id and member.user_id = ${actor.user_id}
      and (member.all_boards_read or member.all_boards_write or access.can_read or access.can_write))`;
}

/** Boards an agent works on, as a condition on `boards`: its own, or all of its gateway for a main agent. */
export function boardsOfAgent(actor: Agent): SQL {
  const inOrganization = eq(boards.organization_id, actor.organization_id);
  const own = actor.board_id === null ? eq(boards.gateway_id, actor.gateway_id) : eq(boards.id, actor.board_id);
  return and(inOrganization, own)!;
}

/**
 * The board group a caller asks for, or the reason why not, in one statement: a right to all boards or to one of its
 * boards is a right to the group, and an empty group is the admins'. An agent belongs to the group of its board.
 */
export async function groupFor(ctx: Context<Member | Agent>, group_id: string, need: "read" | "write"): Promise<BoardGroupRow> {
  const { actor } = ctx;
  const { organization_id } = actor.type === "agent" ? actor : actor.active;
  const [row] = await ctx.db
    .select({
      group: getTableColumns(board_groups),
      readable: actor.type === "agent" ? sql<boolean>`true` : groupRight(actor, "read"),
      allowed: actor.type === "agent" ? groupOfAgent(actor) : groupRight(actor, need),
    })
    .from(board_groups)
    .where(and(eq(board_groups.id, group_id), eq(board_groups.organization_id, organization_id)));
  if (!row?.readable) throw notFound();
  if (!row.allowed) throw boardDenied();
  return row.group;
}

/** Groups of the active organization that the member may read, as a condition on `board_groups`. */
export const readableGroups = (actor: Member): SQL =>
  and(eq(board_groups.organization_id, actor.active.organization_id), groupRight(actor, "read"))!;

function groupRight(actor: Member, need: "read" | "write"): SQL<boolean> {
  const { member_id, role, all_boards_read, all_boards_write } = actor.active;
  if (all_boards_write || (need === "read" && all_boards_read)) return sql`true`;
  const board = sql`from ${boards} as board where board.board_group_id = ${board_groups}.id`;
  const granted = sql<boolean>`exists (select 1 ${board} and exists (
    select 1 from ${organization_board_access} as access
    where access.organization_member_id = ${member_id} and access.board_id = board.id
      and (access.can_write ${need === "read" ? sql`or access.can_read` : sql``})))`;
  return role === "member" ? granted : sql<boolean>`(${granted} or not exists (select 1 ${board}))`;
}

function groupOfAgent(actor: Agent): SQL<boolean> {
  const own = actor.board_id === null ? sql`board.gateway_id = ${actor.gateway_id}` : sql`board.id = ${actor.board_id}`;
  return sql`exists (select 1 from ${boards} as board where board.board_group_id = ${board_groups}.id and ${own})`;
}
