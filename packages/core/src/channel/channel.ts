import { createHash } from "node:crypto";
import { and, asc, count, eq, ne } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import { type Context, transaction } from "../context/context.ts";
import { lockUser } from "../organization/lock.ts";
import { CHANNEL_TYPES, channels, type ChannelType } from "../schema/channel.sql.ts";
import { DomainError, notFound } from "../values/errors.ts";
import { seal } from "../values/seal.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { parseLink } from "./signed-link.ts";

export const Channel = lazyObject(() => ({
  id: Id.describe("Id of the channel."),
  type: z.enum(CHANNEL_TYPES).describe("How the person is notified."),
  organization_id: Id.nullable().describe("The organization whose notifications it sends; null for all organizations."),
  name: z.string().nullable().describe("What the person calls it, such as a browser; null for e-mail."),
  active: z.boolean().describe("Whether anything is sent by it."),
  disabled_reason: z.string().nullable().describe("Why it was switched off; null when it was not."),
  failing_since: Instant.nullable().describe("The first failure after the last success; null when the last attempt succeeded."),
  last_error: z.string().nullable().describe("Why the last attempt failed; null when it did not."),
  last_sent_at: Instant.nullable().describe("When something was last sent by it."),
})).meta({ id: "Channel", description: "A way by which a person is notified outside the console." });
export type Channel = z.infer<typeof Channel>;

export const UpdateChannel = lazyObject(() => ({
  active: z.boolean().describe("Whether anything is sent by it. Switching it on forgets earlier failures."),
})).meta({ id: "ChannelUpdate" });
export type UpdateChannel = z.infer<typeof UpdateChannel>;

/** Lists the caller's channels. The e-mail channel does not exist until the first notification for the address of the profile. */
export const listChannels = async (ctx: Context<User>): Promise<Channel[]> => {
  const rows = await ctx.db
    .select()
    .from(channels)
    .where(eq(channels.user_id, ctx.actor.user_id))
    .orderBy(asc(channels.created_at), asc(channels.id));
  return rows.map(toChannel);
};

/** Returns one of the caller's channels. Throws `not_found` for any other channel. */
export async function getChannel(ctx: Context<User>, channel_id: string): Promise<Channel> {
  const [row] = await ctx.db.select().from(channels).where(isOwn(ctx, channel_id));
  if (!row) throw notFound();
  return toChannel(row);
}

const HEALTHY = { active: true, disabled_reason: null, failing_since: null, retry_at: null, last_error: null };

export async function updateChannel(ctx: Context<User>, channel_id: string, { active }: UpdateChannel): Promise<Channel> {
  const [row] = await ctx.db
    .update(channels)
    .set(active ? HEALTHY : { active })
    .where(isOwn(ctx, channel_id))
    .returning();
  if (!row) throw notFound();
  return toChannel(row);
}

const isOwn = (ctx: Context<User>, channel_id: string) =>
  and(eq(channels.id, channel_id), eq(channels.user_id, ctx.actor.user_id));

const MAX_OF_TYPE = 20;

interface NewChannel {
  type: ChannelType;
  name: string;
  /** Addresses with the same identity belong to the same channel. */
  identity: string;
  address: string;
  /** If set, the channel only sends notifications of this organization. */
  organization_id?: string;
}

/**
 * Stores a channel of the caller. If the caller already has a channel with this address, it is updated. A channel of another person
 * with this address is deleted, because the caller is now signed in to the same browser.
 */
export function addChannel(ctx: Context<User>, { type, name, identity, address, organization_id }: NewChannel): Promise<Channel> {
  const address_digest = createHash("sha256").update(identity).digest("base64url");
  const address_sealed = seal(ctx.settings.encryption_key, address);
  const { user_id } = ctx.actor;
  return transaction(ctx, async (ctx) => {
    await lockUser(ctx, user_id);
    const isSame = and(eq(channels.type, type), eq(channels.address_digest, address_digest));
    await ctx.db.delete(channels).where(and(isSame, ne(channels.user_id, user_id)));
    const [others] = await ctx.db
      .select({ total: count() })
      .from(channels)
      .where(and(eq(channels.user_id, user_id), eq(channels.type, type), ne(channels.address_digest, address_digest)));
    if (others!.total >= MAX_OF_TYPE)
      throw new DomainError("conflict", `You have ${MAX_OF_TYPE} channels of this type, which is the limit. Remove one first.`);
    const [row] = await ctx.db
      .insert(channels)
      .values({ user_id, type, name, address_digest, address_sealed, organization_id: organization_id ?? null })
      .onConflictDoUpdate({
        target: [channels.user_id, channels.type, channels.address_digest],
        set: { name, address_sealed, ...HEALTHY },
      })
      .returning();
    const channel = toChannel(row!);
    await ctx.recordAnswer?.(ctx, channel);
    return channel;
  });
}

/** Removes a channel of the caller, together with the messages that wait to be sent on it. */
export async function removeChannel(ctx: Context<User>, channel_id: string): Promise<void> {
  const { type } = await getChannel(ctx, channel_id);
  if (type === "email") throw new DomainError("conflict", "E-mail goes to the address of your profile. Switch it off instead.");
  const removed = await ctx.db.delete(channels).where(isOwn(ctx, channel_id)).returning({ id: channels.id });
  if (removed.length === 0) throw notFound();
}

/** Removes a channel whose address does not exist any more. */
export async function removeGoneChannel(ctx: Context, channel_id: string): Promise<void> {
  await ctx.db.delete(channels).where(eq(channels.id, channel_id));
}

/** Removes the channels of a type that send for an organization. */
export async function removeChannelsOf(ctx: Context, organization_id: string, type: ChannelType): Promise<void> {
  await ctx.db.delete(channels).where(and(eq(channels.organization_id, organization_id), eq(channels.type, type)));
}

/**
 * Switches a channel off for a person who followed the unsubscribe link of a message. Throws `not_found` if the service did not
 * sign the link.
 */
export async function unsubscribe(ctx: Context, token: string): Promise<void> {
  const claims = parseLink(ctx, "unsubscribe", token);
  if (!claims) throw notFound();
  await ctx.db
    .update(channels)
    .set({ active: false, disabled_reason: "The person used the link in a message to stop these messages." })
    .where(and(eq(channels.id, claims.channel_id), channels.active));
}

function toChannel(row: typeof channels.$inferSelect): Channel {
  const { id, type, organization_id, name, active, disabled_reason, last_error } = row;
  return {
    id,
    type,
    organization_id,
    name,
    active,
    disabled_reason,
    failing_since: row.failing_since?.toISOString() ?? null,
    last_error,
    last_sent_at: row.last_sent_at?.toISOString() ?? null,
  };
}
