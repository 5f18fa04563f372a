import { and, eq, ne } from "drizzle-orm";
import * as z from "zod";
import { type Admin, admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { lockOrganizationAs } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { MemberRole } from "./organization.ts";
import { recordRoleChange } from "./role-event.ts";
import { organization_members } from "../schema/organization.sql.ts";
import { lazyObject } from "../values/wire.ts";

export const UpdateMember = lazyObject(() => ({
  role: MemberRole.describe("The member's new role. It does not change the board rights."),
})).meta({ id: "MemberUpdate" });
export type UpdateMember = z.infer<typeof UpdateMember>;

/** Changes the role of a member. The last owner of an organization stays an owner. */
export function updateMember(ctx: Context<Admin>, member_id: string, { role }: UpdateMember): Promise<Member> {
  const { organization_id } = ctx.actor.active;
  return transaction(ctx, async (ctx) => {
    await lockOrganizationAs(ctx, admin);
    const member = await readMember(ctx, organization_id, member_id);
    if (member.role === role) return member;
    if (member.role === "owner") await requireAnotherOwner(ctx, organization_id, member_id);
    const [updated] = await ctx.db
      .update(organization_members)
      .set({ role })
      .where(and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id)))
      .returning({ updated_at: organization_members.updated_at });
    await recordRoleChange(ctx, { organization_id, member: member.user, from: member.role, to: role, invited_by: null });
    return { ...member, role, updated_at: updated!.updated_at.toISOString() };
  });
}

export const ownerRequiredError = () => new DomainError("invalid", "Organization must have at least one owner");

/** Checks that the organization has an owner other than this member. The caller must hold the lock on the organization. */
export async function requireAnotherOwner(ctx: Context, organization_id: string, member_id: string): Promise<void> {
  const [other] = await ctx.db
    .select({ id: organization_members.id })
    .from(organization_members)
    .where(
      and(
        eq(organization_members.organization_id, organization_id),
        eq(organization_members.role, "owner"),
        ne(organization_members.id, member_id),
      ),
    )
    .limit(1);
  if (!other) throw ownerRequiredError();
}
