import type { Member, Membership, User as UserActor } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { lockUser } from "./lock.ts";
import { createOrganizationWithOwner, getUser, readMemberships, setActiveOrganization, type User } from "./user.ts";
import { seedPacks } from "../skill/pack.ts";

const PERSONAL_ORGANIZATION_NAME = "Personal";

/**
 * Activates an organization for a user who has no valid active one: the organization of the oldest membership, or a new personal
 * one if there is none. The lock on the user keeps two simultaneous first requests from creating two organizations.
 */
export function ensureActiveOrganization(ctx: Context<UserActor>): Promise<Membership> {
  return transaction(ctx, async (ctx) => {
    const { user_id } = ctx.actor;
    const { active_organization_id } = await lockUser(ctx, user_id);
    const memberships = await readMemberships(ctx, user_id);
    const current = memberships.find(({ organization_id }) => organization_id === active_organization_id);
    if (current) return current;
    const next = memberships[0] ?? (await createPersonalOrganization(ctx, user_id));
    await setActiveOrganization(ctx, user_id, next.organization_id);
    return next;
  });
}

async function createPersonalOrganization(ctx: Context, user_id: string): Promise<Membership> {
  const { organization, membership } = await createOrganizationWithOwner(ctx, user_id, PERSONAL_ORGANIZATION_NAME);
  await seedPacks(ctx, organization.id);
  return membership;
}

/** Returns the caller's context as a member, after making sure that the caller has an active organization. */
export async function withActiveOrganization(ctx: Context<UserActor>): Promise<Context<Member>> {
  const active = ctx.actor.active ?? (await ensureActiveOrganization(ctx));
  return { ...ctx, actor: { ...ctx.actor, active } };
}

/** Signs the caller in: makes sure that there is an active organization, and returns the user. */
export async function bootstrap(ctx: Context<UserActor>): Promise<User> {
  return getUser(await withActiveOrganization(ctx));
}
