import { and, eq, gt, inArray, isNull, or, sql } from "drizzle-orm";
import * as z from "zod";
import type { MemberRole, User } from "../context/actor.ts";
import { changedFields, isEmpty } from "../values/changed-fields.ts";
import { type Context, transaction } from "../context/context.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { MAX_SECRET, NonEmpty, lazyObject } from "../values/wire.ts";
import { digestInviteToken } from "./invite.ts";
import { organization_invite_board_access, organization_invites } from "../schema/invite.sql.ts";
import { lockOrganization, lockUser } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { api_keys } from "../schema/key.sql.ts";
import { organization_board_access } from "../schema/board-access.sql.ts";
import { recordRoleChange } from "./role-event.ts";
import { setActiveOrganization } from "./user.ts";
import { recordAudit } from "../audit/record.ts";

export const AcceptInvite = lazyObject(() => ({ token: NonEmpty(MAX_SECRET).describe("Token of the invite.") })).meta({
  id: "InviteAccept",
});
export type AcceptInvite = z.infer<typeof AcceptInvite>;

type InviteRow = typeof organization_invites.$inferSelect;

/**
 * Makes the caller a member, or adds the invite's role and rights to the caller's membership. An invite can be accepted once:
 * by the user with the invited e-mail address or, in accounts mode, by the person who has its link.
 */
export function acceptInvite(ctx: Context<User>, { token }: AcceptInvite): Promise<Member> {
  const { user_id } = ctx.actor;
  const isOpen = and(eq(organization_invites.token_digest, digestInviteToken(token)), isNull(organization_invites.accepted_at));
  return transaction(ctx, async (ctx) => {
    const { email, active_organization_id } = await lockUser(ctx, user_id);
    const [invite] = await ctx.db.select().from(organization_invites).where(isOpen);
    if (!invite) throw notFound();
    // In accounts mode the link of an invite creates the account, so the person who has the link counts as the invited person.
    const isLink = ctx.settings.auth.mode === "accounts";
    if (!isLink && email?.toLowerCase() !== invite.invited_email)
      throw new DomainError("forbidden", "Invite is for another email");
    const { organization_id } = invite;
    await lockOrganization(ctx, organization_id);
    const accepted = await ctx.db
      .update(organization_invites)
      .set({ accepted_by_user_id: user_id, accepted_at: sql`now()` })
      .where(isOpen)
      .returning({ id: organization_invites.id });
    // Another request has accepted or removed the invite in the meantime.
    if (accepted.length === 0) throw notFound();
    const invited_by = await requireInviter(ctx, invite);
    const { member_id, previous_role } = await upsertMembership(ctx, invite, user_id);
    await mergeInviteAccess(ctx, invite.id, member_id);
    if (active_organization_id === null) await setActiveOrganization(ctx, user_id, organization_id);
    const member = await readMember(ctx, organization_id, member_id);
    const change = { organization_id, member: member.user, from: previous_role, to: member.role, invited_by };
    if (previous_role !== member.role) await recordRoleChange(ctx, change);
    const target = { id: invite.id, name: invite.invited_email };
    await recordAudit(ctx, "invite.accepted", { organization_id, target, after: { role: member.role } });
    return member;
  });
}

/**
 * Returns the person or key that sent the invite. It must still be an owner or admin, because an invite gives no rights that its
 * sender could not give now. The caller must hold the lock on the organization.
 */
async function requireInviter(ctx: Context, { organization_id, created_by_user_id }: InviteRow): Promise<Member["user"]> {
  const [inviter] = await ctx.db
    .select({ id: users.id, email: users.email, name: users.name, preferred_name: users.preferred_name })
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .leftJoin(api_keys, eq(api_keys.id, users.id))
    .where(
      and(
        eq(organization_members.organization_id, organization_id),
        sql`${organization_members.user_id} = ${created_by_user_id}::uuid`,
        inArray(organization_members.role, ["owner", "admin"]),
        // An expired key is excluded here, because its service user stays a member. The key can get a later expiry.
        or(isNull(api_keys.expires_at), gt(api_keys.expires_at, ctx.now())),
      ),
    );
  if (inviter) return inviter;
  throw new DomainError("forbidden", "Ask an admin for a new invite: the person who sent this one may no longer invite.");
}

const RANKS: readonly MemberRole[] = ["member", "admin", "owner"];
const higherRole = (a: MemberRole, b: MemberRole) => (RANKS.indexOf(a) > RANKS.indexOf(b) ? a : b);

/**
 * Creates the membership, or adds to the existing one. An existing role is never lowered, and an existing right is never removed.
 */
async function upsertMembership(
  ctx: Context,
  invite: InviteRow,
  user_id: string,
): Promise<{ member_id: string; previous_role: MemberRole | null }> {
  const { organization_id, role, all_boards_read, all_boards_write } = invite;
  const [stored] = await ctx.db
    .select()
    .from(organization_members)
    .where(and(eq(organization_members.organization_id, organization_id), eq(organization_members.user_id, user_id)));
  if (!stored) {
    const [inserted] = await ctx.db
      .insert(organization_members)
      .values({ organization_id, user_id, role, all_boards_read, all_boards_write })
      .returning({ id: organization_members.id });
    return { member_id: inserted!.id, previous_role: null };
  }
  const changes = changedFields(stored, {
    role: higherRole(stored.role, role),
    all_boards_read: stored.all_boards_read || all_boards_read,
    all_boards_write: stored.all_boards_write || all_boards_write,
  });
  if (!isEmpty(changes)) await ctx.db.update(organization_members).set(changes).where(eq(organization_members.id, stored.id));
  return { member_id: stored.id, previous_role: stored.role };
}

/** Adds the invite's rights to single boards to the member's rights. */
async function mergeInviteAccess(ctx: Context, invite_id: string, member_id: string): Promise<void> {
  await ctx.db.execute(sql`
    insert into ${organization_board_access} as stored (organization_member_id, board_id, can_read, can_write)
    select ${member_id}::uuid, board_id, can_read, can_write from ${organization_invite_board_access}
    where organization_invite_id = ${invite_id}
    on conflict (organization_member_id, board_id) do update
    set can_read = stored.can_read or excluded.can_read, can_write = stored.can_write or excluded.can_write, updated_at = now()
    where (excluded.can_read and not stored.can_read) or (excluded.can_write and not stored.can_write)`);
}
