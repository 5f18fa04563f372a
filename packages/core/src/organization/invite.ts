import { createHash, randomBytes } from "node:crypto";
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import * as z from "zod";
import type { Admin } from "../actor.ts";
import { type Context, transaction } from "../context.ts";
import { mapConflict } from "../db/conflict.ts";
import { DomainError, notFound } from "../errors.ts";
import { type Page, type PageQuery, readPage } from "../page.ts";
import { seal, unseal } from "../seal.ts";
import { Id, Instant, NonEmpty, rule } from "../wire.ts";
import { accessFields, requireBoards } from "./access.ts";
import { organization_invite_board_access, organization_invites } from "./invite.sql.ts";
import { lockOrganization } from "./lock.ts";
import { MemberRole } from "./organization.ts";
import { organization_members, users } from "./organization.sql.ts";

export const Invite = z
  .object({
    id: Id.describe("Id of the invite."),
    organization_id: Id.describe("Organization it lets somebody into."),
    invited_email: z.string().describe("Who may accept it, in lower case."),
    role: MemberRole.describe("Role it gives."),
    all_boards_read: z.boolean().describe("Gives the right to read every board."),
    all_boards_write: z.boolean().describe("Gives the right to write to every board."),
    token: z.string().describe("What accepts it. Hand it to the invited person; no mail is sent."),
    created_by_user_id: Id.nullable().describe("Who invited."),
    accepted_by_user_id: Id.nullable().describe("Who accepted."),
    accepted_at: Instant.nullable().describe("When it was accepted; null while it is open."),
    created_at: Instant.describe("When it was made."),
    updated_at: Instant.describe("When it last changed."),
  })
  .meta({ id: "Invite", description: "A way into an organization, for one e-mail address." });
export type Invite = z.infer<typeof Invite>;

const MAX_EMAIL = 320;

export const CreateInvite = z
  .object({
    invited_email: NonEmpty(MAX_EMAIL)
      .toLowerCase()
      .pipe(z.string().regex(/^[^@]*@[^@]*$/, rule("invited_email must hold one @")))
      .describe("E-mail address of the invited person."),
    role: MemberRole.default("member").describe("Role in the organization; it gives no board rights."),
    ...accessFields,
  })
  .meta({ id: "InviteCreate" });
export type CreateInvite = z.infer<typeof CreateInvite>;

const TOKEN_BYTES = 24;

/** Finds an invite by its token. The token itself is random enough to need no key. */
export const inviteDigest = (token: string): string => createHash("sha256").update(token).digest("base64url");

/** The open invites of the organization, newest first. */
export function listInvites(ctx: Context<Admin>, query: PageQuery): Promise<Page<Invite>> {
  const open = and(
    eq(organization_invites.organization_id, ctx.actor.active.organization_id),
    isNull(organization_invites.accepted_at),
  );
  const total = ctx.db.$count(organization_invites, open);
  return readPage(
    query,
    total,
    (limit, offset) =>
      ctx.db
        .select({ item: organization_invites, total })
        .from(organization_invites)
        .where(open)
        .orderBy(desc(organization_invites.created_at), desc(organization_invites.id))
        .limit(limit)
        .offset(offset),
    (row) => toInvite(ctx, row),
  );
}

/** Invites whoever signs in with this e-mail address. There is at most one open invite per address. */
export function createInvite(ctx: Context<Admin>, input: CreateInvite): Promise<Invite> {
  const { active, user_id } = ctx.actor;
  const { organization_id } = active;
  const { board_access, ...values } = input;
  return transaction(ctx, async (ctx) => {
    await lockOrganization(ctx, organization_id);
    await requireBoards(ctx, organization_id, board_access);
    await requireStranger(ctx, organization_id, input.invited_email);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const token_sealed = seal(ctx.settings.encryption_key, token);
    const [row] = await mapConflict({ organization_invites_open: alreadyInvited }, () =>
      ctx.db
        .insert(organization_invites)
        .values({ ...values, organization_id, token_digest: inviteDigest(token), token_sealed, created_by_user_id: user_id })
        .returning(),
    );
    if (board_access.length > 0)
      await ctx.db
        .insert(organization_invite_board_access)
        .values(board_access.map((one) => ({ ...one, organization_invite_id: row!.id })));
    return toInvite(ctx, row!);
  });
}

const alreadyInvited = () => new DomainError("conflict", "An open invite for this email exists");

/** Removes an invite and answers with it. An open one is revoked by that; an accepted one leaves its member as it is. */
export async function removeInvite(ctx: Context<Admin>, invite_id: string): Promise<Invite> {
  const { organization_id } = ctx.actor.active;
  const [row] = await ctx.db
    .delete(organization_invites)
    .where(and(eq(organization_invites.id, invite_id), eq(organization_invites.organization_id, organization_id)))
    .returning();
  if (!row) throw notFound();
  return toInvite(ctx, row);
}

async function requireStranger(ctx: Context, organization_id: string, email: string): Promise<void> {
  const [member] = await ctx.db
    .select({ id: organization_members.id })
    .from(organization_members)
    .innerJoin(users, eq(users.id, organization_members.user_id))
    .where(and(eq(organization_members.organization_id, organization_id), eq(sql`lower(${users.email})`, email)))
    .limit(1);
  if (member) throw new DomainError("conflict", "User is already a member");
}

function toInvite(ctx: Context, row: typeof organization_invites.$inferSelect): Invite {
  const { token_digest: _, token_sealed, accepted_at, created_at, updated_at, ...shown } = row;
  return {
    ...shown,
    token: unseal(ctx.settings.encryption_key, token_sealed),
    accepted_at: accepted_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
