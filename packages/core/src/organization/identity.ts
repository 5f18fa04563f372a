import { and, eq, inArray, not, notInArray, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { users } from "../schema/organization.sql.ts";

/**
 * The person that a verified credential identifies. `email` and `name` are null if the credential does not contain them. Subjects
 * are unique only within their issuer.
 */
export interface Identity {
  issuer: string;
  subject: string;
  email: string | null;
  /** True if the credential has an e-mail address that the issuer has not verified. A stored address is then removed too. */
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
 * A condition on users who have no issuer and may be assigned to this one. Early versions did not store the issuer. The local
 * user belongs to local mode; all others belong to the identity provider that is configured when the first of them signs in.
 */
export const isUnassigned = (issuer: string) =>
  and(eq(users.auth_issuer, ""), issuer === LOCAL_IDENTITY.issuer ? isLocalUser : not(isLocalUser));

/**
 * When the first user without an issuer signs in, this stores the issuer for all such users. Otherwise a later issuer with the
 * same subjects could take over the remaining accounts. Locked rows are left for a later sign-in, because waiting for them could
 * deadlock.
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
