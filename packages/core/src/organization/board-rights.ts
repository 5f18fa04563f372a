import { and, eq, or, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Member, User } from "../context/actor.ts";
import type { StoredRights } from "../context/prefetched-board.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { organization_members } from "../schema/organization.sql.ts";
import { DomainError } from "../values/errors.ts";

/*
 * A person's rights to a board come from the membership in the board's organization and from an access row for that membership
 * and board, if there is one. The right to write includes the right to read. No other file may repeat these rules.
 */

/** Returns the columns of `StoredRights`, for a query that joins memberships (perhaps under an alias) and access rows. */
export const storedRights = <Read extends PgColumn, Write extends PgColumn>(member: {
  all_boards_read: Read;
  all_boards_write: Write;
}) => ({
  all_read: member.all_boards_read,
  all_write: member.all_boards_write,
  can_read: organization_board_access.can_read,
  can_write: organization_board_access.can_write,
});

export const mayWrite = (rights: StoredRights | null): boolean => rights?.all_write === true || rights?.can_write === true;
export const mayRead = (rights: StoredRights | null): boolean =>
  mayWrite(rights) || rights?.all_read === true || rights?.can_read === true;

/** Returns whether the membership alone gives the right to read every board of the organization. */
export const mayReadAll = ({ active }: Member): boolean => active.all_boards_read || active.all_boards_write;

/**
 * Throws `forbidden` for a key that is limited to some boards. Such a key could, for example, invite a person to the other boards.
 */
export function requireKeyForAllBoards({ key }: User): void {
  if (key?.is_for_all_boards === false) throw new DomainError("forbidden", "Only keys for all boards can do this");
}

/**
 * Returns whether the member is an admin of the resources that belong to no board. Keys that are limited to some boards are not.
 */
export const isAdminBeyondBoards = ({ active, key }: Member): boolean =>
  active.role !== "member" && key?.is_for_all_boards !== false;

export const mayWriteAll = ({ active }: Member): boolean => active.all_boards_write;

/** `mayReadAll` as a condition, for a query in which the memberships have the alias `member`. */
export const readsAll: SQL = sql`(member.all_boards_read or member.all_boards_write)`;

/**
 * Returns a condition: whether an access row gives the right to its board. In the query, access rows must have the alias `access`.
 */
export const grants = (need: "read" | "write"): SQL =>
  need === "write" ? sql`access.can_write` : sql`(access.can_read or access.can_write)`;

/** Returns a condition on `boards`: whether an access row of the membership gives the right to the board. */
export const isGranted = (member_id: string | Placeholder, need: "read" | "write", board_id: SQL = sql`${boards}.id`): SQL =>
  sql`exists (select 1 from ${organization_board_access} as access
    where access.organization_member_id = ${member_id} and access.board_id = ${board_id} and ${grants(need)})`;

/** Returns a condition on `organization_members`: whether the member may read this board. */
export const readersOf = (board: { id: string; organization_id: string }): SQL => membersWith("read", board);

/** Returns a condition on `organization_members`: whether the member has the right to this board. */
export const membersWith = (need: "read" | "write", board: { id: string; organization_id: string }): SQL =>
  and(
    eq(organization_members.organization_id, board.organization_id),
    or(
      need === "read" ? organization_members.all_boards_read : undefined,
      organization_members.all_boards_write,
      sql`exists (select 1 from ${organization_board_access} as access
        where access.organization_member_id = ${organization_members}.id and access.board_id = ${board.id} and ${grants(need)})`,
    ),
  )!;

type Place = Record<"user_id" | "organization_id" | "board_id", SQLWrapper>;

/**
 * Returns a condition: whether a person may now read a board or, if the board is null, is a member of the organization. The
 * arguments are columns.
 */
export const mayReadNow = (of: Place): SQL => hasNow("read", of);

/** Returns a condition: whether a person may now write to a board. The arguments are columns. */
export const mayWriteNow = (of: Place): SQL => hasNow("write", of);

/** Returns a condition: whether a person is now an admin or owner of an organization. The arguments are columns. */
export const isAdminNow = (of: Pick<Place, "user_id" | "organization_id">): SQL =>
  sql`exists (select 1 from ${organization_members} as member
    where member.organization_id = ${of.organization_id} and member.user_id = ${of.user_id} and member.role in ('owner', 'admin'))`;

const hasNow = (need: "read" | "write", of: Place): SQL =>
  sql`exists (select 1 from ${organization_members} as member
    where member.organization_id = ${of.organization_id} and member.user_id = ${of.user_id}
      and (${of.board_id} is null or ${need === "read" ? readsAll : sql`member.all_boards_write`}
      or exists (select 1 from ${organization_board_access} as access
        where access.organization_member_id = member.id and access.board_id = ${of.board_id} and ${grants(need)})))`;
