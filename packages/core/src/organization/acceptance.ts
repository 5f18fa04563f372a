import { and, eq, isNull, sql } from "drizzle-orm";
import * as z from "zod";
import type { MemberRole, User } from "../actor.ts";
import { changesOf, isEmpty } from "../change.ts";
import { type Context, transaction } from "../context.ts";
import { DomainError, notFound } from "../errors.ts";
import { MAX_SECRET, NonEmpty } from "../wire.ts";
import { inviteDigest } from "./invite.ts";
import { organization_invite_board_access, organization_invites } from "./invite.sql.ts";
import { lockOrganization, lockUser } from "./lock.ts";
import { type Member, readMember } from "./member.ts";
import { organization_board_access, organization_members } from "./organization.sql.ts";
import { workIn } from "./user.ts";

export const AcceptInvite = z
  .object({ token: NonEmpty(MAX_SECRET).describe("Token of the invite.") })
  .meta({ id: "InviteAccept" });
export type AcceptInvite = z.infer<typeof AcceptInvite>;

type InviteRow = typeof organization_invites.$inferSelect;

/**
 * Makes the caller a member, or gives a member what the invite gives beyond what it has. Only the person of the invited
 * e-mail address can, once.
 */
export function acceptInvite(ctx: Context<User>, { token }: AcceptInvite): Promise<Member> {
  const { user_id } = ctx.actor;
  const open = and(eq(organization_invites.token_digest, inviteDigest(token)), isNull(organization_invites.accepted_at));
  return transaction(ctx, async (ctx) => {
    const { email, active_organization_id } = await lockUser(ctx, user_id);
    const [invite] = await ctx.db.select().from(organization_invites).where(open);
    if (!invite) throw notFound();
    if (email?.toLowerCase() !== invite.invited_email) throw new DomainError("forbidden", "Invite is for another email");
    const { organization_id } = invite;
    await lockOrganization(ctx, organization_id);
    const accepted = await ctx.db
      .update(organization_invites)
      .set({ accepted_by_user_id: user_id, accepted_at: sql`now()` })
      .where(open)
      .returning({ id: organization_invites.id });
    // Another acceptance, or the end of the invite, came first.
    if (accepted.length === 0) throw notFound();
    const member_id = await admit(ctx, invite, user_id);
    await addAccess(ctx, invite.id, member_id);
    if (active_organization_id === null) await workIn(ctx, user_id, organization_id);
    return readMember(ctx, organization_id, member_id);
  });
}

const RANKS: readonly MemberRole[] = ["member", "admin", "owner"];
const higher = (one: MemberRole, other: MemberRole) => (RANKS.indexOf(one) > RANKS.indexOf(other) ? one : other);

/** Makes the membership, or raises the one there is; nothing is ever taken from it. */
async function admit(ctx: Context, invite: InviteRow, user_id: string): Promise<string> {
  const { organization_id, role, all_boards_read, all_boards_write } = invite;
  const [stored] = await ctx.db
    .select()
    .from(organization_members)
    .where(and(eq(organization_members.organization_id, organization_id), eq(organization_members.user_id, user_id)));
  if (!stored) {
    const [made] = await ctx.db
      .insert(organization_members)
      .values({ organization_id, user_id, role, all_boards_read, all_boards_write })
      .returning({ id: organization_members.id });
    return made!.id;
  }
  const changes = changesOf(stored, {
    role: higher(stored.role, role),
    all_boards_read: stored.all_boards_read || all_boards_read,
    all_boards_write: stored.all_boards_write || all_boards_write,
  });
  if (!isEmpty(changes)) await ctx.db.update(organization_members).set(changes).where(eq(organization_members.id, stored.id));
  return stored.id;
}

/** Copies the invite's board rights to the member; where it has rights on a board, both count. */
async function addAccess(ctx: Context, invite_id: string, member_id: string): Promise<void> {
  await ctx.db.execute(sql`
    insert into ${organization_board_access} as held (organization_member_id, board_id, can_read, can_write)
    select ${member_id}::uuid, board_id, can_read, can_write from ${organization_invite_board_access}
    where organization_invite_id = ${invite_id}
    on conflict (organization_member_id, board_id) do update
    set can_read = held.can_read or excluded.can_read, can_write = held.can_write or excluded.can_write, updated_at = now()
    where (excluded.can_read and not held.can_read) or (excluded.can_write and not held.can_write)`);
}
