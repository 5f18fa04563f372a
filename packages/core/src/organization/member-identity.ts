import { and, eq, ne, sql } from "drizzle-orm";
import { recordAudit } from "../audit/record.ts";
import type { Member } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { DomainError } from "../values/errors.ts";
import type { Identity } from "./identity.ts";
import { readMember } from "./member.ts";

/**
 * Records that the operator creates a sign-in link for a person, in the audit log of each organization that the person owns.
 * Returns whether the person owns any.
 */
export function recordOwnerLink(ctx: Context, { issuer, subject }: Pick<Identity, "issuer" | "subject">): Promise<boolean> {
  return transaction({ ...ctx, actor: { type: "system" } as const }, async (ctx) => {
    const owned = await ctx.db
      .select({ id: users.id, name: users.name, organization_id: organization_members.organization_id })
      .from(users)
      .innerJoin(organization_members, and(eq(organization_members.user_id, users.id), eq(organization_members.role, "owner")))
      .where(and(eq(users.auth_issuer, issuer), eq(users.auth_subject, subject)))
      .orderBy(organization_members.organization_id);
    for (const { organization_id, ...target } of owned)
      await recordAudit(ctx, "member.link_created", { organization_id, target });
    return owned.length > 0;
  });
}

/**
 * Returns the sign-in identity of a member, for a link that an owner creates, and records the link in the audit log. The link
 * gives access to everything that the person can access. So the link is refused for owners and for members of organizations that
 * the caller does not own.
 */
export function readIdentityForLink(ctx: Context<Member>, member_id: string): Promise<Pick<Identity, "issuer" | "subject">> {
  const { organization_id, role } = ctx.actor.active;
  if (role !== "owner") throw new DomainError("forbidden", "Only owners can make sign-in links");
  return transaction(ctx, async (ctx) => {
    const { user_id, role: role_of_member, user } = await readMember(ctx, organization_id, member_id);
    if (role_of_member === "owner") throw new DomainError("forbidden", "Only the operator makes sign-in links for owners");
    const [elsewhere] = await ctx.db
      .select({ id: organization_members.id })
      .from(organization_members)
      .where(
        and(
          eq(organization_members.user_id, user_id),
          ne(organization_members.organization_id, organization_id),
          sql`not exists (select from ${organization_members} as own where own.user_id = ${ctx.actor.user_id} and own.role = 'owner'
            and own.organization_id = ${organization_members}.organization_id)`,
        ),
      )
      .limit(1);
    if (elsewhere) throw new DomainError("forbidden", "Only the operator makes sign-in links for people of other organizations");
    const [identity] = await ctx.db
      .select({ issuer: users.auth_issuer, subject: users.auth_subject })
      .from(users)
      .where(eq(users.id, user_id));
    await recordAudit(ctx, "member.link_created", { organization_id, target: { id: user_id, name: user?.name ?? null } });
    return identity!;
  });
}
