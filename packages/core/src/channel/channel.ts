import { and, asc, eq } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { CHANNEL_TYPES, channels } from "../schema/channel.sql.ts";
import { notFound } from "../values/errors.ts";
import { Id, Instant, lazyObject } from "../values/wire.ts";
import { parseLink } from "./signed-link.ts";

export const Channel = lazyObject(() => ({
  id: Id.describe("Id of the channel."),
  type: z.enum(CHANNEL_TYPES).describe("How the person is notified."),
  organization_id: Id.nullable().describe("The organization whose notifications it sends; null for those of all."),
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

/** The caller's channels. An e-mail channel exists once something was to be sent to the address of the profile. */
export const listChannels = async (ctx: Context<User>): Promise<Channel[]> => {
  const rows = await ctx.db
    .select()
    .from(channels)
    .where(eq(channels.user_id, ctx.actor.user_id))
    .orderBy(asc(channels.created_at), asc(channels.id));
  return rows.map(toChannel);
};

/** One of the caller's channels. */
export async function getChannel(ctx: Context<User>, channel_id: string): Promise<Channel> {
  const [row] = await ctx.db.select().from(channels).where(isOwn(ctx, channel_id));
  if (!row) throw notFound();
  return toChannel(row);
}

export async function updateChannel(ctx: Context<User>, channel_id: string, { active }: UpdateChannel): Promise<Channel> {
  const fresh = active ? { disabled_reason: null, failing_since: null, last_error: null } : {};
  const [row] = await ctx.db
    .update(channels)
    .set({ active, ...fresh })
    .where(isOwn(ctx, channel_id))
    .returning();
  if (!row) throw notFound();
  return toChannel(row);
}

const isOwn = (ctx: Context<User>, channel_id: string) =>
  and(eq(channels.id, channel_id), eq(channels.user_id, ctx.actor.user_id));

/** Switches a channel off by the link of one of its messages. Throws `not_found` for a link that the service did not sign. */
export async function unsubscribe(ctx: Context, token: string): Promise<void> {
  const claims = parseLink(ctx, "unsubscribe", token);
  if (!claims) throw notFound();
  await ctx.db
    .update(channels)
    .set({ active: false, disabled_reason: "The person stopped these messages by their link." })
    .where(and(eq(channels.id, claims.channel_id), channels.active));
}

function toChannel(row: typeof channels.$inferSelect): Channel {
  const { id, type, organization_id, active, disabled_reason, last_error } = row;
  return {
    id,
    type,
    organization_id,
    active,
    disabled_reason,
    failing_since: row.failing_since?.toISOString() ?? null,
    last_error,
    last_sent_at: row.last_sent_at?.toISOString() ?? null,
  };
}
