import { and, asc, eq, sql } from "drizzle-orm";
import * as z from "zod";
import type { Membership, User as UserActor } from "../actor.ts";
import type { Context, Db } from "../context.ts";
import { preparedQuery } from "../db/statement-cache.ts";
import { unauthenticated } from "../errors.ts";
import { Id } from "../wire.ts";
import { organization_members, organizations, users } from "./organization.sql.ts";

const nullable = (text: string) => z.string().nullable().describe(text);

export const User = z
  .object({
    id: Id.describe("Id of the user."),
    clerk_user_id: z.string().describe("The identity provider's id of the user."),
    email: nullable("E-mail address."),
    name: nullable("Full name."),
    preferred_name: nullable("What the user wants to be called."),
    pronouns: nullable("Pronouns."),
    timezone: nullable("IANA time zone. Onboarding of a user is complete once `name` and `timezone` are set."),
    notes: nullable("Notes for agents about the user."),
    context: nullable("Background for agents about the user."),
    is_super_admin: z.literal(false).describe("Always false."),
  })
  .meta({ id: "User", description: "A person." });
export type User = z.infer<typeof User>;

/** The person that a verified credential names. `email` and `name` are null when the credential has no such claim. */
export interface Identity {
  subject: string;
  email: string | null;
  name: string | null;
}

/** The only user of local mode. */
export const LOCAL_IDENTITY: Identity = { subject: "local-auth-user", email: "admin@home.local", name: "Local User" };

/** Leaves out the long texts, because every request reads these columns, and open streams read them for many users at once. */
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
 * Reads the user of an identity and the membership in the active organization in one statement, and creates the user at
 * the first request. The e-mail address follows the credential; the name is only set when it is empty.
 */
export async function resolveUser(ctx: Context, identity: Identity): Promise<UserActor> {
  const stored = await findUserBySubject(ctx, identity.subject);
  if (!stored) return toActor(await createUser(ctx, identity), null);
  const { user, active } = stored;
  const email = identity.email ?? user.email;
  const name = user.name ?? identity.name;
  if (email !== user.email || name !== user.name) await ctx.db.update(users).set({ email, name }).where(eq(users.id, user.id));
  return toActor({ ...user, email, name }, active);
}

/**
 * Reads the users of open connections again, by subject and in one statement. It writes nothing, and the result lacks
 * users that were deleted.
 */
export async function recheckUsers(ctx: Context, subjects: readonly string[]): Promise<Map<string, UserActor>> {
  if (subjects.length === 0) return new Map();
  const rows = await selectUsers(ctx.db).where(sql`${users.auth_subject} = any(${sql.param([...subjects])}::text[])`);
  return new Map(rows.map(({ user, active }) => [user.auth_subject, toActor(user, active)]));
}

async function findUserBySubject(ctx: Context, auth_subject: string) {
  const [row] = await selectUserBySubject(ctx.db).execute({ auth_subject });
  return row ?? null;
}

const selectUsers = (db: Db) =>
  db
    .select({ user: identityColumns, active: membershipColumns })
    .from(users)
    .leftJoin(
      organization_members,
      and(eq(organization_members.user_id, users.id), eq(organization_members.organization_id, users.active_organization_id)),
    );

const selectUserBySubject = preparedQuery((db) => selectUsers(db).where(eq(users.auth_subject, sql.placeholder("auth_subject"))));

async function createUser(ctx: Context, identity: Identity) {
  const values = { auth_subject: identity.subject, email: identity.email, name: identity.name };
  const [inserted] = await ctx.db.insert(users).values(values).onConflictDoNothing().returning();
  if (inserted) return inserted;
  // Another first request of this user inserted the row at the same time.
  const [existing] = await ctx.db.select().from(users).where(eq(users.auth_subject, identity.subject));
  if (!existing) throw unauthenticated();
  return existing;
}

function toActor(user: Pick<typeof users.$inferSelect, keyof typeof identityColumns>, active: Membership | null): UserActor {
  return { type: "user", user_id: user.id, display_name: user.preferred_name || user.name || "User", active };
}

/** The memberships of a user, oldest first. */
export const readMemberships = (ctx: Context, user_id: string): Promise<Membership[]> =>
  ctx.db
    .select(membershipColumns)
    .from(organization_members)
    .where(eq(organization_members.user_id, user_id))
    .orderBy(asc(organization_members.created_at), asc(organization_members.id));

/** Creates an organization with its first owner, who may read and write every board. */
export async function createOrganizationWithOwner(ctx: Context, user_id: string, name: string) {
  const [organization] = await ctx.db.insert(organizations).values({ name }).returning();
  const [membership] = await ctx.db
    .insert(organization_members)
    .values({ organization_id: organization!.id, user_id, role: "owner", all_boards_read: true, all_boards_write: true })
    .returning(membershipColumns);
  return { organization: organization!, membership: membership! };
}

/** Sets the user's active organization. It keeps `updated_at`, because that is the time of the last profile change. */
export async function setActiveOrganization(ctx: Context, user_id: string, organization_id: string): Promise<void> {
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
