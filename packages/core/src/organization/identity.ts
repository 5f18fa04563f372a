import { and, eq, inArray, not, notInArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { users } from "../schema/organization.sql.ts";

/**
 * The person that a verified credential names. `email` and `name` are null when the credential has no such claim. Subjects
 * are unique within their issuer only.
 */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | null;
  /** Whether the credential has an address but none that the issuer has verified. A stored address is then removed too. */
  email_unverified: boolean;
  name: string | null;
}

/** The only user of local mode. Its issuer is no URL, so no identity provider can have it. */
export const LOCAL_IDENTITY: Identity = {
  issuer: "local",
  subject: "local-auth-user",
  email: "admin@home.local",
  email_unverified: false,
  name: "Local User",
};

const isLocalUser = eq(users.auth_subject, LOCAL_IDENTITY.subject);

/**
 * Matches users without an issuer who may be assigned to this one; early versions did not store it. The local user belongs to
 * local mode, and all others belong to the identity provider that is configured when the first of them signs in.
 */
export const isUnassigned = (issuer: string) =>
  and(eq(users.auth_issuer, ""), issuer === LOCAL_IDENTITY.issuer ? isLocalUser : not(isLocalUser));

/**
 * Stores the issuer for all users without one when the first of them signs in. Otherwise a later issuer with the same subjects
 * could take over the remaining accounts. It skips locked rows until a later sign-in, since waiting for them could deadlock.
 */
export async function assignIssuer(ctx: Context, issuer: string): Promise<void> {
  // During a deployment, the previous version may have stored a user a second time without an issuer.
  const taken = ctx.db.select({ subject: users.auth_subject }).from(users).where(eq(users.auth_issuer, issuer));
  const unassigned = ctx.db
    .select({ id: users.id })
    .from(users)
    .where(and(isUnassigned(issuer), notInArray(users.auth_subject, taken)))
    .for("update", { skipLocked: true });
  await ctx.db
    .update(users)
    .set({ auth_issuer: issuer, updated_at: sql`${users.updated_at}` })
    .where(inArray(users.id, unassigned));
}
