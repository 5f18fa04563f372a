import { and, asc, eq, inArray, isNull, sql } from "drizzle-orm";
import { recordAudit } from "../audit/record.ts";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { withLockTimeoutRetry } from "../db/retry-transaction.ts";
import { DomainError } from "../values/errors.ts";
import { removeAnswersOfUser } from "../idempotency/retention.ts";
import { lockUser } from "./lock.ts";
import { organization_members, organizations, users } from "../schema/organization.sql.ts";
import { removeOrganization } from "./remove.ts";
import { ownerRequiredError } from "./member-role.ts";

/**
 * Removes the caller, the caller's memberships, and every organization in which the caller is the only member. The account at the
 * identity provider is not removed. Signing in again creates a new user.
 */
export async function removeUser(ctx: Context<User>): Promise<void> {
  if (ctx.settings.auth.mode === "local") throw new DomainError("forbidden", "The shared local user cannot be deleted");
  const { user_id } = ctx.actor;
  await withLockTimeoutRetry(ctx, async (ctx) => {
    await lockUser(ctx, user_id);
    const organization_ids = await lockOrganizationsOfUser(ctx, user_id);
    const memberships = organization_ids.length > 0 ? await readMembershipSummaries(ctx, user_id, organization_ids) : [];
    if (memberships.some(({ role, others, other_owners }) => role === "owner" && others > 0 && other_owners === 0))
      throw ownerRequiredError();
    for (const { organization_id } of memberships.filter(({ others }) => others === 0))
      await removeOrganization(ctx, organization_id);
    await removeAnswersOfUser(ctx, user_id);
    const [removed] = await ctx.db.delete(users).where(eq(users.id, user_id)).returning({ id: users.id, name: users.name });
    for (const { organization_id, role } of memberships.filter(({ others }) => others > 0))
      await recordAudit(ctx, "member.removed", { organization_id, target: removed!, before: { role } });
  });
}

/** Locks the organizations in the order of their ids, so that removing two users at the same time cannot cause a deadlock. */
async function lockOrganizationsOfUser(ctx: Context, user_id: string): Promise<string[]> {
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

/** Counts the other owners and the other people of each organization. The caller must hold the locks on the organizations. */
function readMembershipSummaries(ctx: Context, user_id: string, organization_ids: string[]) {
  const { organization_id, user_id: member, role } = organization_members;
  return ctx.db
    .select({
      organization_id,
      role: sql<string | null>`min(${role}) filter (where ${member} = ${user_id})`,
      others: sql`count(*) filter (where ${member} <> ${user_id})`.mapWith(Number),
      other_owners: sql`count(*) filter (where ${member} <> ${user_id} and ${role} = 'owner')`.mapWith(Number),
    })
    .from(organization_members)
    .innerJoin(users, and(eq(users.id, member), isNull(users.service_organization_id)))
    .where(inArray(organization_id, organization_ids))
    .groupBy(organization_id)
    .orderBy(organization_id);
}
