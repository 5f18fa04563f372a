import { and, eq, inArray, not, notInArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { users } from "../schema/organization.sql.ts";

/**
 * The person that a verified credential identifies. `email` and `name` are null if the credential does not contain them. Two
 * issuers may have the same subject for different people.
 */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | null;
  /**
   * True if the credential has an e-mail address that the issuer has not verified. The stored address of the user is then removed.
   */
  email_unverified: boolean;
  name: string | null;
}

/** The only user of local mode. Its issuer is not a URL, so no identity provider can have it. */
export const LOCAL_IDENTITY: Identity = {
  issuer: "local",
  subject: "local-auth-user",
  email: "admin@home.local",
  email_unverified: false,
  name: "Local User",
};

const isLocalUser = eq(users.auth_subject, LOCAL_IDENTITY.subject);

/**
 * Returns a condition on users: whether the user has no stored issuer, as in early versions, and may be assigned the given
 * issuer. The local user belongs to local mode. All other users without an issuer belong to the identity provider under which the
 * first of them signs in.
 */
const isUnassigned = (issuer: string) =>
  and(eq(users.auth_issuer, ""), issuer === LOCAL_IDENTITY.issuer ? isLocalUser : not(isLocalUser));

/**
 * Stores the issuer for all users without one, when the first of them signs in. Otherwise a later issuer with the same subjects
 * could take over the other accounts. Locked rows are left for a later sign-in, because waiting for them could deadlock.
 */
export async function assignIssuer(ctx: Context, issuer: string): Promise<void> {
  // During a deployment, the previous version may have stored a user a second time without an issuer. These rows are left out.
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
