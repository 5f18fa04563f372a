import { createHash, randomBytes } from "node:crypto";
import { and, eq, isNull, sql, getTableColumns } from "drizzle-orm";
import * as z from "zod";
import { type Admin, admin } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { actingFor } from "../db/change-actor.ts";
import { countMailTo } from "../db/mail-limit.ts";
import { countOfDay } from "../db/rate-limit.ts";
import { mapUniqueViolation } from "../db/query-error.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { newestFirst } from "../lists/keyset.ts";
import type { Page, PageQuery } from "../lists/page.ts";
import { seal, unsealIfReadable } from "../values/seal.ts";
import { Id, Instant, NonEmpty, valueError, lazyObject } from "../values/wire.ts";
import { AccessFields, requireBoards } from "./member-access.ts";
import { organization_invite_board_access, organization_invites } from "../schema/invite.sql.ts";
import { enqueue } from "../job/job.ts";
import { lockOrganizationAs } from "./lock.ts";
import { MemberRole } from "./organization.ts";
import { organization_members, users } from "../schema/organization.sql.ts";
import { listOf } from "../lists/list.ts";
import { filterBy, filterIf } from "../lists/filter.ts";
import { recordAudit } from "../audit/record.ts";

export const Invite = lazyObject(() => ({
  id: Id.describe("Id of the invite."),
  organization_id: Id.describe("Organization of the invite."),
  invited_email: z.string().describe("E-mail address of the invited person, in lower case."),
  role: MemberRole.describe("Role that the invite gives."),
  all_boards_read: z.boolean().describe("Gives the right to read every board."),
  all_boards_write: z.boolean().describe("Gives the right to write to every board."),
  token: z
    .string()
    .describe(
      "Token that accepts the invite. Give it to the invited person. It is sent by mail only if accounts and a mail server are set up. Empty if it was encrypted with another ENCRYPTION_KEY: then remove the invite and create it again.",
    ),
  created_by_user_id: Id.nullable().describe("User who created the invite."),
  accepted_by_user_id: Id.nullable().describe("User who accepted the invite."),
  accepted_at: Instant.nullable().describe("When the invite was accepted; null while it is open."),
  created_at: Instant.describe("When the invite was created."),
  updated_at: Instant.describe("When the invite last changed."),
})).meta({ id: "Invite", description: "An invitation to join an organization, for one e-mail address." });
export type Invite = z.infer<typeof Invite>;

const MAX_EMAIL = 320;

export const CreateInvite = lazyObject(() => ({
  invited_email: NonEmpty(MAX_EMAIL)
    .toLowerCase()
    .pipe(z.string().regex(/^[^@]*@[^@]*$/, valueError("invited_email must hold one @")))
    .describe("E-mail address of the invited person."),
  role: MemberRole.default("member").describe("Role in the organization; it gives no board rights."),
  ...AccessFields.shape,
})).meta({ id: "InviteCreate" });
export type CreateInvite = z.infer<typeof CreateInvite>;

const TOKEN_BYTES = 24;

/** Returns the digest by which an invite is found from its token. It needs no secret key, because tokens are random. */
export const digestInviteToken = (token: string): string => createHash("sha256").update(token).digest("base64url");

const inviteList = listOf({
  name: "invites",
  table: organization_invites,
  columns: getTableColumns(organization_invites),
  order: newestFirst(organization_invites),
});

/** Lists the open invites of the organization, newest first. */
export function listInvites(ctx: Context<Admin>, query: PageQuery): Promise<Page<Invite>> {
  const { organization_id } = ctx.actor.active;
  return inviteList.read(ctx, query, {
    owner: organization_id,
    filters: [
      filterBy("organization_id", organization_id, (id) => eq(organization_invites.organization_id, id)),
      filterIf("open", true, () => isNull(organization_invites.accepted_at)),
    ],
    toItem: (row) => toInvite(ctx, row),
  });
}

/** Invites the person who signs in with this e-mail address. An address has at most one open invite. */
export async function createInvite(ctx: Context<Admin>, input: CreateInvite): Promise<Invite> {
  const { active, user_id } = ctx.actor;
  const { organization_id } = active;
  // The link of an invite can create an account only in accounts mode.
  const isMailed = ctx.settings.mail !== null && ctx.settings.auth.mode === "accounts";
  if (isMailed) await countMailTo(ctx, input.invited_email);
  const { board_access, ...values } = input;
  return transaction(ctx, async (ctx) => {
    await lockOrganizationAs(ctx, admin);
    await requireBoards(ctx, organization_id, board_access);
    await requireNotMember(ctx, organization_id, input.invited_email);
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const token_sealed = seal(ctx.settings.encryption_key, token);
    const [row] = await mapUniqueViolation({ organization_invites_open: alreadyInvitedError }, () =>
      ctx.db
        .insert(organization_invites)
        .values({
          ...values,
          organization_id: actingFor(ctx, organization_id),
          token_digest: digestInviteToken(token),
          token_sealed,
          created_by_user_id: user_id,
        })
        .returning(),
    );
    if (board_access.length > 0)
      await ctx.db
        .insert(organization_invite_board_access)
        .values(board_access.map((grant) => ({ ...grant, organization_invite_id: row!.id })));
    const target = { id: row!.id, name: row!.invited_email };
    await recordAudit(ctx, "invite.created", { organization_id, target, after: input });
    if (isMailed) {
      // In the transaction, so that an invite that is refused does not count.
      await countOfDay(ctx, "organization_invite_mails_per_day", organization_id, toLimitText);
      await enqueue(ctx, "invite.mail", { invite_id: row!.id }, { organization_id });
    }
    return toInvite(ctx, row!);
  });
}

const toLimitText = (limit: number) =>
  `This organization has sent ${limit} invites today, which is the limit. Try again tomorrow.`;

const alreadyInvitedError = () => new DomainError("conflict", "An open invite for this email exists");

/** Removes an invite and returns it. Removing an open invite revokes it; removing an accepted one does not change the member. */
export function removeInvite(ctx: Context<Admin>, invite_id: string): Promise<Invite> {
  const { organization_id } = ctx.actor.active;
  return transaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(organization_invites)
      .where(and(eq(organization_invites.id, invite_id), eq(organization_invites.organization_id, organization_id)))
      .returning();
    if (!row) throw notFound();
    const target = { id: row.id, name: row.invited_email };
    await recordAudit(ctx, "invite.removed", { organization_id, target, before: { role: row.role } });
    return toInvite(ctx, row);
  });
}

/** Finds the open invite with this token. Returns only what the form for a new account needs. */
export async function findOpenInvite(ctx: Context, token: string): Promise<{ id: string; invited_email: string } | null> {
  const [invite] = await ctx.db
    .select({ id: organization_invites.id, invited_email: organization_invites.invited_email })
    .from(organization_invites)
    .where(and(eq(organization_invites.token_digest, digestInviteToken(token)), isNull(organization_invites.accepted_at)));
  return invite ?? null;
}

async function requireNotMember(ctx: Context, organization_id: string, email: string): Promise<void> {
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
    token: unsealIfReadable(ctx.settings.encryption_key, token_sealed) ?? "",
    accepted_at: accepted_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
