import type { Context } from "../context/context.ts";
import { organization_members, users } from "../schema/organization.sql.ts";

/** The issuer of service users. It is not a URL, so no identity provider can have it. */
const SERVICE_ISSUER = "key";

/**
 * Creates a service user as a member of an organization, without rights, and returns its id. A service user is not a person: it
 * appears in no list of members, cannot sign in, and acts only through the key with the same id.
 */
export async function createServiceUser(ctx: Context, organization_id: string, name: string): Promise<string> {
  const id = crypto.randomUUID();
  const identity = { auth_issuer: SERVICE_ISSUER, auth_subject: id };
  await ctx.db.insert(users).values({ id, ...identity, name, service_organization_id: organization_id });
  await ctx.db.insert(organization_members).values({ organization_id, user_id: id, role: "member" });
  return id;
}
