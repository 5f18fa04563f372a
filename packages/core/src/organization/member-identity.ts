import { and, eq, ne, sql } from "drizzle-orm";
import { recordAudit } from "../audit/record.ts";
import type { Member } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { DomainError } from "../values/errors.ts";
import type { Identity } from "./identity.ts";
import { readMember } from "./member.ts";
import { findMembership } from "./user.ts";

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

/** A sign-in link that a person made for another member of an organization. */
export interface MemberLink {
  organization_id: string;
  member_id: string;
  maker_user_id: string;
}

/** Returns the sign-in identity of a member, for a link that an owner creates, and records the link in the audit log. */
export function readIdentityForLink(ctx: Context<Member>, member_id: string): Promise<Pick<Identity, "issuer" | "subject">> {
  const { organization_id } = ctx.actor.active;
  return transaction(ctx, async (ctx) => {
    const { user_id, user } = await requireLinkAllowed(ctx, { organization_id, member_id, maker_user_id: ctx.actor.user_id });
    const [identity] = await ctx.db
      .select({ issuer: users.auth_issuer, subject: users.auth_subject })
      .from(users)
      .where(eq(users.id, user_id));
    await recordAudit(ctx, "member.link_created", { organization_id, target: { id: user_id, name: user?.name ?? null } });
    return identity!;
  });
}

/**
 * Checks whether the maker may have this link now, and returns the member. The link gives access to everything that the person can
 * access. So it is refused for owners and for members of organizations that the maker does not own. Call it again at the use.
 */
export async function requireLinkAllowed(ctx: Context, { organization_id, member_id, maker_user_id }: MemberLink) {
  const maker = await findMembership(ctx, maker_user_id, organization_id);
  if (maker?.role !== "owner") throw new DomainError("forbidden", "Only owners can make sign-in links");
  const member = await readMember(ctx, organization_id, member_id);
  if (member.role === "owner") throw new DomainError("forbidden", "Only the operator makes sign-in links for owners");
  const [elsewhere] = await ctx.db
    .select({ id: organization_members.id })
    .from(organization_members)
    .where(
      and(
        eq(organization_members.user_id, member.user_id),
        ne(organization_members.organization_id, organization_id),
        sql`not exists (select from ${organization_members} as own where own.user_id = ${maker_user_id} and own.role = 'owner'
          and own.organization_id = ${organization_members}.organization_id)`,
      ),
    )
    .limit(1);
  if (elsewhere) throw new DomainError("forbidden", "Only the operator makes sign-in links for people of other organizations");
  return member;
}
