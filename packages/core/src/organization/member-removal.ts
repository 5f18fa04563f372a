import { and, eq, sql } from "drizzle-orm";
import type { Admin } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { writeTogether } from "../db/together.ts";
import { DomainError, notFound } from "../errors.ts";
import { lockOrganization } from "./lock.ts";
import { organization_members, users } from "./organization.sql.ts";
import { requireAnotherOwner } from "./role.ts";

/**
 * Removes a member with its board rights. Who worked in the organization works on in the oldest other membership, or, with
 * none, in whatever the next request makes.
 */
export function removeMember(ctx: Context<Admin>, member_id: string): Promise<void> {
  const { organization_id, member_id: own_id, role } = ctx.actor.active;
  const which = and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id));
  return transaction(ctx, async (ctx) => {
    // The user's lock comes before the organization's, here as everywhere.
    const [found] = await ctx.db
      .select({ user_id: users.id })
      .from(organization_members)
      .innerJoin(users, eq(users.id, organization_members.user_id))
      .where(which)
      .for("no key update", { of: users });
    if (!found) throw notFound();
    await lockOrganization(ctx, organization_id);
    const [member] = await ctx.db.select({ role: organization_members.role }).from(organization_members).where(which);
    if (!member) throw notFound();
    if (member_id === own_id) throw new DomainError("forbidden", "You cannot remove yourself from the organization");
    if (member.role === "owner") {
      if (role !== "owner") throw new DomainError("forbidden", "Only owners can remove owners");
      await requireAnotherOwner(ctx, organization_id, member_id);
    }
    await writeTogether(ctx, [
      ctx.db.delete(organization_members).where(which),
      leaveBehind(ctx, organization_id, found.user_id),
    ]);
  });
}

/** Has the users who work in an organization, or one of them, work in their oldest other membership; in none without one. */
export function leaveBehind(ctx: Context, organization_id: string, user_id?: string) {
  const next = sql`(
    select other.organization_id from ${organization_members} as other
    where other.user_id = ${users}.id and other.organization_id <> ${organization_id}
    order by other.created_at, other.id limit 1)`;
  return ctx.db
    .update(users)
    .set({ active_organization_id: next, updated_at: sql`${users.updated_at}` })
    .where(and(eq(users.active_organization_id, organization_id), user_id ? eq(users.id, user_id) : undefined));
}
