import { and, eq, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { Member } from "../context/actor.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { boards } from "../schema/board.sql.ts";
import { organization_members } from "../schema/organization.sql.ts";

/*
 * The rights of a person to a board follow from the membership in its organization and from the access row of that membership
 * and that board, if there is one. A right to write includes reading. Only this file says so, for one row and for conditions.
 */

/** A person's rights to a board, as they are stored. */
export interface StoredRights {
  all_read: boolean | null;
  all_write: boolean | null;
  can_read: boolean | null;
  can_write: boolean | null;
}

/** The columns of `StoredRights` in a query that joins a membership, maybe under an alias, and its access row. */
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

/** Whether the membership alone gives the right to every board of the organization. */
export const mayReadAll = ({ active }: Member): boolean => active.all_boards_read || active.all_boards_write;
export const mayWriteAll = ({ active }: Member): boolean => active.all_boards_write;

/** The same for the rows of a query that calls memberships `member`. */
export const readsAll: SQL = sql`(member.all_boards_read or member.all_boards_write)`;

/** Whether a row of a query that calls access rows `access` grants the right to its board. */
export const grants = (need: "read" | "write"): SQL =>
  need === "write" ? sql`access.can_write` : sql`(access.can_read or access.can_write)`;

/** Condition on `boards`: an access row of the membership grants the right. */
export const isGranted = (member_id: string | Placeholder, need: "read" | "write", board_id: SQL = sql`${boards}.id`): SQL =>
  sql`exists (select 1 from ${organization_board_access} as access
    where access.organization_member_id = ${member_id} and access.board_id = ${board_id} and ${grants(need)})`;

/** Condition on `organization_members`: those of the organization who may read one of its boards. */
export const readersOf = (board: { id: string; organization_id: string }): SQL =>
  and(
    eq(organization_members.organization_id, board.organization_id),
    or(
      organization_members.all_boards_read,
      organization_members.all_boards_write,
      sql`exists (select 1 from ${organization_board_access} as access
        where access.organization_member_id = ${organization_members}.id and access.board_id = ${board.id} and ${grants("read")})`,
    ),
  )!;
