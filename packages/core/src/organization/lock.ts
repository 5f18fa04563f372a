import { eq } from "drizzle-orm";
import type { Member, Role, User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { notFound, unauthenticated } from "../values/errors.ts";
import { organizations, users } from "../schema/organization.sql.ts";
import { findMembership } from "./user.ts";

/**
 * Locks an organization, so that changes of its members, roles and invites run one at a time. Inserts of rows that refer to the
 * organization (boards, events) wait only if `strength` is `update`. Lock a user before the organization; otherwise two changes
 * can deadlock.
 */
export async function lockOrganization(
  ctx: Context,
  organization_id: string,
  strength: "no key update" | "update" = "no key update",
): Promise<void> {
  const [row] = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(eq(organizations.id, organization_id))
    .for(strength);
  if (!row) throw notFound();
}

/**
 * Locks the caller's organization, and returns the caller with the current role. Changes on behalf of a member must take the lock
 * with this function, because the caller may have lost the role while the request waited.
 */
export async function lockOrganizationAs<A extends Member>(ctx: Context<Member>, role: Role<A>): Promise<A> {
  const { organization_id } = ctx.actor.active;
  await lockOrganization(ctx, organization_id);
  return recheckCaller(ctx, organization_id, role);
}

/**
 * Returns the caller as a member with the current role, and throws if the caller has lost the role. Call it after waiting for a
 * lock. The statement that waits cannot read the membership itself, because it would see the row as it was before the wait.
 */
export async function recheckCaller<A extends Member>(ctx: Context<User>, organization_id: string, role: Role<A>): Promise<A> {
  const active = await findMembership(ctx, ctx.actor.user_id, organization_id);
  if (!active) throw notFound();
  return role.narrow({ ...ctx.actor, active }, ctx.settings);
}

/** Locks a user. This lock is required to change the user's memberships and active organization. */
export async function lockUser(ctx: Context, user_id: string) {
  const [row] = await ctx.db
    .select({ email: users.email, active_organization_id: users.active_organization_id })
    .from(users)
    .where(eq(users.id, user_id))
    .for("no key update");
  if (!row) throw unauthenticated();
  return row;
}
