import { and, asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Membership, User as UserActor } from "../actor.ts";
import { type Context, type Db, transaction } from "../context.ts";
import { builtOnce } from "../db/built-once.ts";
import { unauthenticated } from "../errors.ts";
import { seedPacks } from "../skill/pack.ts";
import { Id } from "../wire.ts";
import { lockUser } from "./lock.ts";
import { organization_members, organizations, users } from "./organization.sql.ts";

const nullable = (text: string) => z.string().nullable().describe(text);

export const User = z
  .object({
    id: Id.describe("Id of the user."),
    clerk_user_id: z.string().describe("The identity provider's key of the user."),
    email: nullable("E-mail address."),
    name: nullable("Full name."),
    preferred_name: nullable("What the user wants to be called."),
    pronouns: nullable("Pronouns."),
    timezone: nullable("IANA time zone. Onboarding is complete once name and timezone are set."),
    notes: nullable("Notes for agents about the user."),
    context: nullable("Background for agents about the user."),
    is_super_admin: z.literal(false).describe("Always false."),
  })
  .meta({ id: "User", description: "A person." });
export type User = z.infer<typeof User>;

/** Who signed in, as the credential tells it. `email` and `name` are null where it says nothing. */
export interface Identity {
  subject: string;
  email: string | null;
  name: string | null;
}

/** The one person of local mode. */
export const LOCAL_IDENTITY: Identity = { subject: "local-auth-user", email: "admin@home.local", name: "Local User" };

/** Without the long texts: this is read with every request, and of many people at once for open streams. */
const identityColumns = {
  id: users.id,
  auth_subject: users.auth_subject,
  email: users.email,
  name: users.name,
  preferred_name: users.preferred_name,
};

const membershipColumns = {
  member_id: organization_members.id,
  organization_id: organization_members.organization_id,
  role: organization_members.role,
  all_boards_read: organization_members.all_boards_read,
  all_boards_write: organization_members.all_boards_write,
};

/**
 * The user of an identity with the membership in the active organization, in one statement; made on first sight. The
 * e-mail follows the credential, the name is only filled when empty.
 */
export async function resolveUser(ctx: Context, identity: Identity): Promise<UserActor> {
  const found = await readBySubject(ctx, identity.subject);
  if (!found) return toActor(await createUser(ctx, identity), null);
  const { user } = found;
  const email = identity.email ?? user.email;
  const name = user.name ?? identity.name;
  if (email !== user.email || name !== user.name) await ctx.db.update(users).set({ email, name }).where(eq(users.id, user.id));
  return toActor({ ...user, email, name }, found.active);
}

/**
 * The same for connections that are already open, by subject: one statement for all of them. Nothing is written, and
 * whoever was deleted is nobody.
 */
export async function recheckUsers(ctx: Context, subjects: readonly string[]): Promise<Map<string, UserActor>> {
  if (subjects.length === 0) return new Map();
  const found = await selectUsers(ctx.db).where(sql`${users.auth_subject} = any(${sql.param([...subjects])}::text[])`);
  return new Map(found.map(({ user, active }) => [user.auth_subject, toActor(user, active)]));
}

async function readBySubject(ctx: Context, auth_subject: string) {
  const [found] = await bySubject(ctx.db).execute({ auth_subject });
  return found ?? null;
}

const selectUsers = (db: Db) =>
  db
    .select({ user: identityColumns, active: membershipColumns })
    .from(users)
    .leftJoin(
      organization_members,
      and(eq(organization_members.user_id, users.id), eq(organization_members.organization_id, users.active_organization_id)),
    );

const bySubject = builtOnce((db) => selectUsers(db).where(eq(users.auth_subject, sql.placeholder("auth_subject"))));

async function createUser(ctx: Context, identity: Identity) {
  const values = { auth_subject: identity.subject, email: identity.email, name: identity.name };
  const [made] = await ctx.db.insert(users).values(values).onConflictDoNothing().returning();
  if (made) return made;
  // Two first requests at once: the other one made the row.
  const [other] = await ctx.db.select().from(users).where(eq(users.auth_subject, identity.subject));
  if (!other) throw unauthenticated();
  return other;
}

function toActor(user: Pick<typeof users.$inferSelect, keyof typeof identityColumns>, active: Membership | null): UserActor {
  return { type: "user", user_id: user.id, display_name: user.preferred_name || user.name || "User", active };
}

const PERSONAL = "Personal";

/**
 * The membership a request acts with when the stored one is missing: the oldest other membership, else a new
 * organization of the user's own. Under a lock on the user, so that two first requests make one organization.
 */
export function ensureActiveOrganization(ctx: Context<UserActor>): Promise<Membership> {
  return transaction(ctx, async (ctx) => {
    const { user_id } = ctx.actor;
    const { active_organization_id } = await lockUser(ctx, user_id);
    const memberships = await ctx.db
      .select(membershipColumns)
      .from(organization_members)
      .where(eq(organization_members.user_id, user_id))
      .orderBy(asc(organization_members.created_at), asc(organization_members.id));
    const current = memberships.find((one) => one.organization_id === active_organization_id);
    if (current) return current;
    const next = memberships[0] ?? (await createPersonalOrganization(ctx, user_id));
    await workIn(ctx, user_id, next.organization_id);
    return next;
  });
}

async function createPersonalOrganization(ctx: Context, user_id: string): Promise<Membership> {
  const { organization, membership } = await foundOrganization(ctx, user_id, PERSONAL);
  await seedPacks(ctx, organization.id);
  return membership;
}

/** A new organization with its first owner, who has a right to all boards. */
export async function foundOrganization(ctx: Context, user_id: string, name: string) {
  const [organization] = await ctx.db.insert(organizations).values({ name }).returning();
  const [membership] = await ctx.db
    .insert(organization_members)
    .values({ organization_id: organization!.id, user_id, role: "owner", all_boards_read: true, all_boards_write: true })
    .returning(membershipColumns);
  return { organization: organization!, membership: membership! };
}

/** Sets the organization a user works in. The user's own fields stay as they are, and so does the stamp of their change. */
export async function workIn(ctx: Context, user_id: string, organization_id: string): Promise<void> {
  await ctx.db
    .update(users)
    .set({ active_organization_id: organization_id, updated_at: sql`${users.updated_at}` })
    .where(eq(users.id, user_id));
}

export async function getUser(ctx: Context<UserActor>): Promise<User> {
  const [row] = await ctx.db.select().from(users).where(eq(users.id, ctx.actor.user_id));
  if (!row) throw unauthenticated();
  return toUser(row);
}

/** The caller, with an organization to work in made when there is none. */
export async function bootstrap(ctx: Context<UserActor>): Promise<User> {
  if (!ctx.actor.active) await ensureActiveOrganization(ctx);
  return getUser(ctx);
}

export function toUser(row: typeof users.$inferSelect): User {
  const { id, email, name, preferred_name, pronouns, timezone, notes, context } = row;
  return {
    id,
    clerk_user_id: row.auth_subject,
    email,
    name,
    preferred_name,
    pronouns,
    timezone,
    notes,
    context,
    is_super_admin: false,
  };
}
