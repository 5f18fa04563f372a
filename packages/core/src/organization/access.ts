import { isDeepStrictEqual } from "node:util";
import { and, eq, inArray, notInArray, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import { boards } from "../board/board.sql.ts";
import { type Context, transaction } from "../context.ts";
import { writeTogether } from "../db/together.ts";
import { DomainError } from "../errors.ts";
import { Id, MAX_IDS } from "../wire.ts";
import { lockOrganization } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { organization_board_access, organization_members } from "./organization.sql.ts";

export const BoardGrant = z
  .object({
    board_id: Id.describe("A board of the organization."),
    can_read: z.boolean().default(true).describe("May read the board."),
    can_write: z.boolean().default(false).describe("May write to the board, and so read it."),
  })
  .meta({ id: "BoardGrant", description: "Rights on one board, as they are given." });
export type BoardGrant = z.infer<typeof BoardGrant>;

/** The board rights of a member or of an invite. They add up: rows count beside a flag that is set. */
export const accessFields = {
  all_boards_read: z.boolean().default(false).describe("May read every board."),
  all_boards_write: z.boolean().default(false).describe("May write to every board."),
  board_access: z.array(BoardGrant).max(MAX_IDS).default([]).describe("Rights on single boards."),
};

export const ReplaceAccess = z.object(accessFields).meta({ id: "MemberAccessReplace" });
export type ReplaceAccess = z.infer<typeof ReplaceAccess>;

/** Replaces both flags and all rows of a member. A row that stays keeps its id. */
export function replaceAccess(ctx: Context<Admin>, member_id: string, input: ReplaceAccess): Promise<Member> {
  const { organization_id } = ctx.actor.active;
  const { board_access, ...flags } = input;
  return transaction(ctx, async (ctx) => {
    await lockOrganization(ctx, organization_id);
    const member = await readMember(ctx, organization_id, member_id);
    await requireBoards(ctx, organization_id, board_access);
    if (isDeepStrictEqual(summary(member), summary(input))) return member;
    await writeTogether(ctx, [
      ctx.db
        .update(organization_members)
        .set(flags)
        .where(and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id))),
      ctx.db.delete(organization_board_access).where(
        and(
          eq(organization_board_access.organization_member_id, member_id),
          notInArray(
            organization_board_access.board_id,
            board_access.map(({ board_id }) => board_id),
          ),
        ),
      ),
      ...(board_access.length > 0 ? [upsertAccess(ctx, member_id, board_access)] : []),
    ]);
    return readMember(ctx, organization_id, member_id);
  });
}

function upsertAccess(ctx: Context, organization_member_id: string, access: BoardGrant[]) {
  const { can_read, can_write } = organization_board_access;
  return ctx.db
    .insert(organization_board_access)
    .values(access.map((one) => ({ ...one, organization_member_id })))
    .onConflictDoUpdate({
      target: [organization_board_access.organization_member_id, organization_board_access.board_id],
      set: { can_read: sql`excluded.can_read`, can_write: sql`excluded.can_write`, updated_at: sql`now()` },
      setWhere: sql`(${can_read}, ${can_write}) is distinct from (excluded.can_read, excluded.can_write)`,
    });
}

/** What is granted, in an order of its own: for telling whether anything changes. */
const summary = ({ all_boards_read, all_boards_write, board_access }: ReplaceAccess) => ({
  all_boards_read,
  all_boards_write,
  boards: board_access.map(({ board_id, can_read, can_write }) => `${board_id} ${can_read} ${can_write}`).toSorted(),
});

/** Every board that is named is the organization's, stays there until the transaction ends, and is named once. */
export async function requireBoards(ctx: Context, organization_id: string, access: readonly BoardGrant[]): Promise<void> {
  if (access.length === 0) return;
  const ids = [...new Set(access.map(({ board_id }) => board_id))];
  const found = await ctx.db
    .select({ id: boards.id })
    .from(boards)
    .where(and(inArray(boards.id, ids), eq(boards.organization_id, organization_id)))
    .for("key share");
  if (found.length < ids.length) throw new DomainError("invalid", "One or more boards do not belong to the organization");
  if (ids.length < access.length) throw new DomainError("invalid", "Duplicate board_id");
}
