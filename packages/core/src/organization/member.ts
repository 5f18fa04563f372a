import { and, asc, eq } from "drizzle-orm";
import * as z from "zod";
import type { Member as MemberActor } from "../actor.ts";
import type { Context } from "../context.ts";
import { notFound } from "../errors.ts";
import { Id, Instant } from "../wire.ts";
import { MemberRole } from "./organization.ts";
import { organization_board_access, organization_members, users } from "./organization.sql.ts";

export const BoardAccess = z
  .object({
    id: Id.describe("Id of the override."),
    board_id: Id.describe("Board it speaks of."),
    can_read: z.boolean().describe("The member may read the board."),
    can_write: z.boolean().describe("The member may write to the board."),
    created_at: Instant.describe("When it was given."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "BoardAccess", description: "Rights of a member on one board." });

export const Member = z
  .object({
    id: Id.describe("Id of the membership."),
    organization_id: Id.describe("Organization of the membership."),
    user_id: Id.describe("User of the membership."),
    role: MemberRole.describe("Role in the organization; it gives no board rights."),
    all_boards_read: z.boolean().describe("May read every board."),
    all_boards_write: z.boolean().describe("May write to every board."),
    created_at: Instant.describe("When the user joined."),
    updated_at: Instant.describe("When the membership last changed."),
    user: z
      .object({
        id: Id.describe("Id of the user."),
        email: z.string().nullable().describe("E-mail address."),
        name: z.string().nullable().describe("Full name."),
        preferred_name: z.string().nullable().describe("What the user wants to be called."),
      })
      .nullable()
      .describe("The user."),
    board_access: z.array(BoardAccess).describe("Rights on single boards, beside the two flags."),
  })
  .meta({ id: "Member", description: "A membership in an organization." });
export type Member = z.infer<typeof Member>;

/** The caller's own membership in the active organization. */
export async function getOwnMember(ctx: Context<MemberActor>): Promise<Member> {
  const rows = await ctx.db
    .select({ member: organization_members, user: users, access: organization_board_access })
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .leftJoin(organization_board_access, eq(organization_board_access.organization_member_id, organization_members.id))
    .where(
      and(
        eq(organization_members.id, ctx.actor.active.member_id),
        eq(organization_members.organization_id, ctx.actor.active.organization_id),
      ),
    )
    .orderBy(asc(organization_board_access.created_at), asc(organization_board_access.id));
  const [first] = rows;
  if (!first) throw notFound();
  return toMember(
    first.member,
    first.user,
    rows.flatMap((row) => (row.access ? [row.access] : [])),
  );
}

/** Gives a member both rights on one board. */
export async function grantBoard(ctx: Context, organization_member_id: string, board_id: string): Promise<void> {
  await ctx.db.insert(organization_board_access).values({ organization_member_id, board_id, can_read: true, can_write: true });
}

function toMember(
  row: typeof organization_members.$inferSelect,
  user: typeof users.$inferSelect,
  access: (typeof organization_board_access.$inferSelect)[],
): Member {
  return {
    id: row.id,
    organization_id: row.organization_id,
    user_id: row.user_id,
    role: row.role,
    all_boards_read: row.all_boards_read,
    all_boards_write: row.all_boards_write,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    user: { id: user.id, email: user.email, name: user.name, preferred_name: user.preferred_name },
    board_access: access.map((one) => ({
      id: one.id,
      board_id: one.board_id,
      can_read: one.can_read,
      can_write: one.can_write,
      created_at: one.created_at.toISOString(),
      updated_at: one.updated_at.toISOString(),
    })),
  };
}
