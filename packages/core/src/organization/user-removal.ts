import { asc, eq, inArray, sql } from "drizzle-orm";
import type { User } from "../actor.ts";
import type { Context } from "../context.ts";
import { transactionGivingWay } from "../db/giving-way.ts";
import { DomainError } from "../errors.ts";
import { lockUser } from "./lock.ts";
import { organization_members, organizations, users } from "./organization.sql.ts";
import { removeOrganization } from "./removal.ts";
import { ownerMissing } from "./role.ts";

/**
 * Removes the caller: with the organizations nobody else is in, and from all others. Nothing happens at the identity
 * provider; signing in again makes a new user.
 */
export async function deleteUser(ctx: Context<User>): Promise<void> {
  if (ctx.settings.auth.mode === "local") throw new DomainError("forbidden", "The shared local user cannot be deleted");
  const { user_id } = ctx.actor;
  await transactionGivingWay(ctx, async (ctx) => {
    await lockUser(ctx, user_id);
    const joined = await lockOrganizationsOf(ctx, user_id);
    const standings = joined.length > 0 ? await readStandings(ctx, user_id, joined) : [];
    if (standings.some((one) => one.owned && one.others > 0 && one.other_owners === 0)) throw ownerMissing();
    for (const { organization_id } of standings.filter((one) => one.others === 0)) await removeOrganization(ctx, organization_id);
    await ctx.db.delete(users).where(eq(users.id, user_id));
  });
}

/** In the order of their ids, so that two users who leave at once do not wait for each other. */
async function lockOrganizationsOf(ctx: Context, user_id: string): Promise<string[]> {
  const memberships = ctx.db
    .select({ id: organization_members.organization_id })
    .from(organization_members)
    .where(eq(organization_members.user_id, user_id));
  const rows = await ctx.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(inArray(organizations.id, memberships))
    .orderBy(asc(organizations.id))
    .for("no key update");
  return rows.map((row) => row.id);
}

/** How the user stands in each organization, read under their locks. */
function readStandings(ctx: Context, user_id: string, organization_ids: string[]) {
  const { organization_id, user_id: member, role } = organization_members;
  return ctx.db
    .select({
      organization_id,
      owned: sql<boolean>`bool_or(${member} = ${user_id} and ${role} = 'owner')`,
      others: sql`count(*) filter (where ${member} <> ${user_id})`.mapWith(Number),
      other_owners: sql`count(*) filter (where ${member} <> ${user_id} and ${role} = 'owner')`.mapWith(Number),
    })
    .from(organization_members)
    .where(inArray(organization_id, organization_ids))
    .groupBy(organization_id);
}
