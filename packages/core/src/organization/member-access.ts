import { isDeepStrictEqual } from "node:util";
import { and, eq, inArray, notInArray, sql } from "drizzle-orm";
import * as z from "zod";
import { type Admin, admin } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import { type Context, transaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError } from "../values/errors.ts";
import { Id, MAX_IDS, lazyObject } from "../values/wire.ts";
import { lockOrganizationAs } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { organization_members } from "../schema/organization.sql.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { recordAudit } from "../audit/record.ts";

export const BoardGrant = lazyObject(() => ({
  board_id: Id.describe("Board of the organization."),
  can_read: z.boolean().default(true).describe("May read the board."),
  can_write: z.boolean().default(false).describe("May write to the board, which includes reading it."),
})).meta({ id: "BoardGrant", description: "Rights to give on one board." });
export type BoardGrant = z.infer<typeof BoardGrant>;

/** The board rights of a member or an invite. The flags and the rows for single boards are combined. */
export const AccessFields = lazyObject(() => ({
  all_boards_read: z.boolean().default(false).describe("May read every board."),
  all_boards_write: z.boolean().default(false).describe("May write to every board."),
  board_access: z.array(BoardGrant).max(MAX_IDS).default([]).describe("Rights on single boards."),
}));

export const ReplaceMemberAccess = AccessFields.meta({ id: "MemberAccessReplace" });
export type ReplaceMemberAccess = z.infer<typeof ReplaceMemberAccess>;

/** Replaces both flags and all board rows of a member. The row of a board that stays in the list keeps its id. */
export function replaceMemberAccess(ctx: Context<Admin>, member_id: string, input: ReplaceMemberAccess): Promise<Member> {
  const { organization_id } = ctx.actor.active;
  const { board_access, ...flags } = input;
  return transaction(ctx, async (ctx) => {
    await lockOrganizationAs(ctx, admin);
    const member = await readMember(ctx, organization_id, member_id);
    await requireBoards(ctx, organization_id, board_access);
    if (isDeepStrictEqual(toComparableAccess(member), toComparableAccess(input))) return member;
    await runBatch(ctx, [
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
    const target = { id: member.user_id, name: member.user?.name ?? null };
    const entry = { organization_id, target, before: toComparableAccess(member), after: toComparableAccess(input) };
    await recordAudit(ctx, "member.access_changed", entry);
    return readMember(ctx, organization_id, member_id);
  });
}

function upsertAccess(ctx: Context, organization_member_id: string, access: BoardGrant[]) {
  const { can_read, can_write } = organization_board_access;
  return ctx.db
    .insert(organization_board_access)
    .values(access.map((grant) => ({ ...grant, organization_member_id })))
    .onConflictDoUpdate({
      target: [organization_board_access.organization_member_id, organization_board_access.board_id],
      set: { can_read: sql`excluded.can_read`, can_write: sql`excluded.can_write`, updated_at: sql`now()` },
      setWhere: sql`(${can_read}, ${can_write}) is distinct from (excluded.can_read, excluded.can_write)`,
    });
}

/** Returns the granted rights in a fixed order, so that they can be compared with the stored rights. */
const toComparableAccess = ({ all_boards_read, all_boards_write, board_access }: ReplaceMemberAccess) => ({
  all_boards_read,
  all_boards_write,
  boards: board_access.map(({ board_id, can_read, can_write }) => `${board_id} ${can_read} ${can_write}`).toSorted(),
});

/** Checks that the boards belong to the organization and that each is listed once. Locks them, so that they cannot be removed. */
export async function requireBoards(
  ctx: Context,
  organization_id: string,
  access: readonly { board_id: string }[],
): Promise<void> {
  if (access.length === 0) return;
  const ids = [...new Set(access.map(({ board_id }) => board_id))];
  const rows = await ctx.db
    .select({ id: boards.id })
    .from(boards)
    .where(and(inArray(boards.id, ids), eq(boards.organization_id, organization_id)))
    .for("key share");
  if (rows.length < ids.length) throw new DomainError("invalid", "One or more boards do not belong to the organization");
  if (ids.length < access.length) throw new DomainError("invalid", "Duplicate board_id");
}
