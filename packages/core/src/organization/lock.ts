import { eq } from "drizzle-orm";
import type { Context } from "../context.ts";
import { notFound, unauthenticated } from "../errors.ts";
import { organizations, users } from "./organization.sql.ts";

/**
 * Changes of members, roles and invites run one after the other, each under the lock of its organization. Rows that only
 * refer to the organization (boards, events) are written meanwhile. A change that needs a user's lock as well takes that
 * one first, so that no two changes wait for each other.
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

/** What organizations a user has and works in changes under the user's own lock. */
export async function lockUser(ctx: Context, user_id: string) {
  const [row] = await ctx.db
    .select({ email: users.email, active_organization_id: users.active_organization_id })
    .from(users)
    .where(eq(users.id, user_id))
    .for("no key update");
  if (!row) throw unauthenticated();
  return row;
}
