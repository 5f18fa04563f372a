import { and, asc, desc, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import * as z from "zod";
import type { Membership, User as UserActor } from "../context/actor.ts";
import { boards } from "../schema/board.sql.ts";
import type { Context } from "../context/context.ts";
import type { Db } from "../context/db.ts";
import { preparedQuery } from "../db/prepared.ts";
import { unauthenticated } from "../values/errors.ts";
import { storePrefetchedBoard } from "../context/prefetched-board.ts";
import { Id, lazyObject } from "../values/wire.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { assignIssuer, type Identity, LOCAL_IDENTITY } from "./identity.ts";
import { organization_members, organizations, users } from "../schema/organization.sql.ts";
import { storedRights } from "./board-rights.ts";

const nullable = (text: string) => z.string().nullable().describe(text);

export const User = lazyObject(() => ({
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
})).meta({ id: "User", description: "A person." });
export type User = z.infer<typeof User>;

/**
 * The columns that every request reads. Long texts are left out, because open streams read these columns for many users at once.
 */
const identityColumns = {
  id: users.id,
  auth_issuer: users.auth_issuer,
  auth_subject: users.auth_subject,
  email: users.email,
  name: users.name,
  preferred_name: users.preferred_name,
};

/** The columns of a `Membership`. */
export const membershipColumns = {
  member_id: organization_members.id,
  organization_id: organization_members.organization_id,
  role: organization_members.role,
  all_boards_read: organization_members.all_boards_read,
  all_boards_write: organization_members.all_boards_write,
};

/**
 * Reads a user and the membership in the active organization with one statement, and creates the user at the first request. The
 * e-mail address is updated from the credential. The name is taken from the credential only if the user has none.
 */
export async function resolveUser(ctx: Context, identity: Identity): Promise<UserActor> {
  const stored = await findUserByIdentity(ctx, identity);
  if (!stored) return toActor(await createUser(ctx, identity), null);
  const { user, active } = stored;
  if (user.auth_issuer === "") await assignIssuer(ctx, identity.issuer);
  const email = identity.email_unverified ? null : (identity.email ?? user.email);
  const name = user.name ?? identity.name;
  if (email !== user.email || name !== user.name) await ctx.db.update(users).set({ email, name }).where(eq(users.id, user.id));
  return toActor({ ...user, email, name }, active);
}

/**
 * The user of an open connection. `organization_id` is the organization whose data the connection shows; null if it shows no data
 * of an organization.
 */
export interface Session {
  identity: Pick<Identity, "issuer" | "subject">;
  organization_id: string | null;
}

/**
 * Reads the users of open connections again with one statement, in the order of the sessions. Deleted users are null. `active` is
 * the membership in the organization of the session, even if the user has activated a different organization since.
 */
export async function recheckUsers(ctx: Context, sessions: readonly Session[]): Promise<(UserActor | null)[]> {
  if (sessions.length === 0) return [];
  const subjects = sql.param(sessions.map(({ identity }) => identity.subject));
  const issuers = sql.param([UNASSIGNED, ...new Set(sessions.map(({ identity }) => identity.issuer))]);
  const organization_ids = sql.param(sessions.flatMap(({ organization_id }) => organization_id ?? []));
  const isOfSession = sql`${organization_members.organization_id} = any(${organization_ids}::uuid[])`;
  const rows = await ctx.db
    .select({ user: identityColumns, active: membershipColumns })
    .from(users)
    .leftJoin(organization_members, and(eq(organization_members.user_id, users.id), isOfSession))
    .where(and(sql`${users.auth_subject} = any(${subjects}::text[])`, sql`${users.auth_issuer} = any(${issuers}::text[])`))
    .orderBy(asc(users.auth_issuer));
  const bySubject = Map.groupBy(rows, ({ user }) => user.auth_subject);
  return sessions.map(({ identity, organization_id }) => {
    const found = (bySubject.get(identity.subject) ?? []).filter(({ user }) => issuersOf(identity).includes(user.auth_issuer));
    // The rows are in ascending order of the issuer. So if there is also an old row without an issuer, the last row has the
    // issuer.
    const user = found.at(-1)?.user;
    if (!user) return null;
    const membership = found.find((row) => row.user.id === user.id && row.active?.organization_id === organization_id);
    return toActor(user, membership?.active ?? null);
  });
}

/** The stored issuer of users from early versions until one of them signs in. */
const UNASSIGNED = "";

/** Returns the stored issuers that the user of an identity may have, by the rules of `isUnassigned`. */
function issuersOf({ issuer, subject }: Pick<Identity, "issuer" | "subject">): [string, string] {
  const ownsUnassigned = (issuer === LOCAL_IDENTITY.issuer) === (subject === LOCAL_IDENTITY.subject);
  return [issuer, ownsUnassigned ? UNASSIGNED : issuer];
}

async function findUserByIdentity(ctx: Context, identity: Identity) {
  const [issuer, or_issuer] = issuersOf(identity);
  const values = { issuer, or_issuer, subject: identity.subject };
  const { prefetched_board } = ctx;
  if (!prefetched_board) return (await selectUserByIdentity(ctx.db).execute(values))[0] ?? null;
  const [row] = await selectUserWithBoard(ctx.db).execute({ ...values, board_id: prefetched_board.id });
  if (!row) return null;
  const { user, active, board, ...rights } = row;
  storePrefetchedBoard(ctx, user.id, { board, rights });
  return { user, active };
}

const isActive = and(
  eq(organization_members.user_id, users.id),
  eq(organization_members.organization_id, users.active_organization_id),
);

const selectUsers = (db: Db) =>
  db.select({ user: identityColumns, active: membershipColumns }).from(users).leftJoin(organization_members, isActive);

const hasIdentity = and(
  eq(users.auth_subject, sql.placeholder("subject")),
  inArray(users.auth_issuer, [sql.placeholder("issuer"), sql.placeholder("or_issuer")]),
);

/** The descending order prefers a row with the issuer to an old row without one. */
const selectUserByIdentity = preparedQuery((db) => selectUsers(db).where(hasIdentity).orderBy(desc(users.auth_issuer)).limit(1));

/** The membership in the organization of the board that the path names. */
const board_member = alias(organization_members, "board_member");

/** Selects the user together with the board that the path names and the user's rights to it, which `boardFor` checks later. */
const selectUserWithBoard = preparedQuery((db) =>
  db
    .select({
      user: identityColumns,
      active: membershipColumns,
      board: getTableColumns(boards),
      ...storedRights(board_member),
    })
    .from(users)
    .leftJoin(organization_members, isActive)
    .leftJoin(boards, eq(boards.id, sql.placeholder("board_id")))
    .leftJoin(board_member, and(eq(board_member.organization_id, boards.organization_id), eq(board_member.user_id, users.id)))
    .leftJoin(
      organization_board_access,
      and(
        eq(organization_board_access.organization_member_id, board_member.id),
        eq(organization_board_access.board_id, boards.id),
      ),
    )
    .where(hasIdentity)
    // A user has only one membership in an organization. The order makes the result of a wrong query predictable, so that a test
    // detects a query that reads another user's membership.
    .orderBy(desc(users.auth_issuer), asc(board_member.created_at))
    .limit(1),
);

async function createUser(ctx: Context, { issuer, subject, email, name }: Identity) {
  const values = { auth_issuer: issuer, auth_subject: subject, email, name };
  const [inserted] = await ctx.db.insert(users).values(values).onConflictDoNothing().returning();
  if (inserted) return inserted;
  // Another first request of this user has inserted the row at the same time.
  const isCreated = and(eq(users.auth_subject, subject), eq(users.auth_issuer, issuer));
  const [existing] = await ctx.db.select().from(users).where(isCreated);
  if (!existing) throw unauthenticated();
  return existing;
}

function toActor(user: Pick<typeof users.$inferSelect, keyof typeof identityColumns>, active: Membership | null): UserActor {
  return { type: "user", user_id: user.id, display_name: user.preferred_name || user.name || "User", active };
}

export async function findMembership(ctx: Context, user_id: string, organization_id: string): Promise<Membership | null> {
  const [membership] = await ctx.db
    .select(membershipColumns)
    .from(organization_members)
    .where(and(eq(organization_members.user_id, user_id), eq(organization_members.organization_id, organization_id)));
  return membership ?? null;
}

/** Returns the memberships of a user, oldest first. */
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

/** Sets the user's active organization. `updated_at` stays the same, because it is the time of the last profile change. */
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
