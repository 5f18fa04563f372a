import { and, eq, ne } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError } from "../errors.ts";
import { lockOrganization } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { MemberRole } from "./organization.ts";
import { organization_members } from "./organization.sql.ts";

export const UpdateMember = z
  .object({ role: MemberRole.describe("The member's new role; the board rights stay.") })
  .meta({ id: "MemberUpdate" });
export type UpdateMember = z.infer<typeof UpdateMember>;

/** Gives a member another role. The last owner stays one. */
export function changeRole(ctx: Context<Admin>, member_id: string, { role }: UpdateMember): Promise<Member> {
  const { organization_id } = ctx.actor.active;
  return transaction(ctx, async (ctx) => {
    await lockOrganization(ctx, organization_id);
    const member = await readMember(ctx, organization_id, member_id);
    if (member.role === role) return member;
    if (member.role === "owner") await requireAnotherOwner(ctx, organization_id, member_id);
    const [changed] = await ctx.db
      .update(organization_members)
      .set({ role })
      .where(and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id)))
      .returning({ updated_at: organization_members.updated_at });
    return { ...member, role, updated_at: changed!.updated_at.toISOString() };
  });
}

export const ownerMissing = () => new DomainError("invalid", "Organization must have at least one owner");

/** Under the lock of the organization: somebody else than this member owns it. */
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
  if (!other) throw ownerMissing();
}
