import { eq } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { notFound, unauthenticated } from "../values/errors.ts";
import { organizations, users } from "../schema/organization.sql.ts";

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
