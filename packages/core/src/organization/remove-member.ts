import { and, eq, isNull, sql } from "drizzle-orm";
import { type Admin, admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { runBatch } from "../db/batch.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { lockOrganizationAs } from "./lock.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { requireAnotherOwner } from "./member-role.ts";
import { recordAudit } from "../audit/record.ts";

/**
 * Removes a member with its board rights. If the organization was the user's active one, the user's oldest other organization
 * becomes active. A user without another organization gets a personal one at the next request.
 */
export function removeMember(ctx: Context<Admin>, member_id: string): Promise<void> {
  const { organization_id, member_id: own_id } = ctx.actor.active;
  const condition = and(eq(organization_members.id, member_id), eq(organization_members.organization_id, organization_id));
  return transaction(ctx, async (ctx) => {
    // The user is locked before the organization, as in every change: see `lockOrganization`.
    const [user] = await ctx.db
      .select({ user_id: users.id, name: users.name })
      .from(organization_members)
      .innerJoin(users, eq(users.id, organization_members.user_id))
      .where(and(condition, isNull(users.service_organization_id)))
      .for("no key update", { of: users });
    if (!user) throw notFound();
    const { active } = await lockOrganizationAs(ctx, admin);
    const [member] = await ctx.db.select({ role: organization_members.role }).from(organization_members).where(condition);
    if (!member) throw notFound();
    if (member_id === own_id) throw new DomainError("forbidden", "You cannot remove yourself from the organization");
    if (member.role === "owner") {
      if (active.role !== "owner") throw new DomainError("forbidden", "Only owners can remove owners");
      await requireAnotherOwner(ctx, organization_id, member_id);
    }
    await runBatch(ctx, [
      ctx.db.delete(organization_members).where(condition),
      reassignActiveOrganization(ctx, organization_id, user.user_id),
    ]);
    const target = { id: user.user_id, name: user.name };
    await recordAudit(ctx, "member.removed", { organization_id, target, before: member });
  });
}

/**
 * Changes the active organization of the users for whom this organization is active. It becomes their oldest other organization,
 * or none. `user_id` limits the change to one user.
 */
export function reassignActiveOrganization(ctx: Context, organization_id: string, user_id?: string) {
  const next = sql`(
    select other.organization_id from ${organization_members} as other
    where other.user_id = ${users}.id and other.organization_id <> ${organization_id}
    order by other.created_at, other.id limit 1)`;
  return ctx.db
    .update(users)
    .set({ active_organization_id: next, updated_at: sql`${users.updated_at}` })
    .where(and(eq(users.active_organization_id, organization_id), user_id ? eq(users.id, user_id) : undefined));
}
