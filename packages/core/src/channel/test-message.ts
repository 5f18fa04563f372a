import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { countRequest } from "../db/rate-limit.ts";
import { channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { untilAborted } from "../values/concurrency.ts";
import { DomainError, ExpectedFailure, notFound } from "../values/errors.ts";
import { lazyObject } from "../values/wire.ts";
import type { ChannelKind } from "./kind.ts";

/** The time limit of a test message. The request must end before API Gateway stops waiting for it. */
const MAX_MS = 10_000;

export const ChannelTest = lazyObject(() => ({
  ok: z.boolean().describe("Whether the message was accepted. It may still take a moment to arrive."),
  error: z.string().nullable().describe("Why it was not accepted."),
})).meta({ id: "ChannelTest", description: "The result of a test message." });
export type ChannelTest = z.infer<typeof ChannelTest>;

/** Sends a test message on one of the caller's channels at once, even if the channel is switched off. It stores nothing. */
export async function testChannel(ctx: Context<User>, kinds: readonly ChannelKind[], channel_id: string): Promise<ChannelTest> {
  const { user_id, active } = ctx.actor;
  const [row] = await ctx.db
    .select({ type: channels.type, address_sealed: channels.address_sealed, email: users.email })
    .from(channels)
    .innerJoin(users, eq(users.id, channels.user_id))
    .where(and(eq(channels.id, channel_id), eq(channels.user_id, user_id)));
  if (!row) throw notFound();
  const { type, address_sealed, email } = row;
  const kind = kinds.find((candidate) => candidate.type === type && candidate.isOn(ctx));
  if (!kind?.sendTest) throw new DomainError("conflict", "Nothing can be sent by this channel at the moment.");
  await countRequest(ctx, "channel_tests_per_minute", "channel_test", user_id);
  const organization_id = active?.organization_id ?? user_id;
  try {
    const timeout = AbortSignal.timeout(MAX_MS);
    await untilAborted(kind.sendTest(ctx, { organization_id, channel: { id: channel_id, address_sealed }, email }), timeout);
    return timeout.aborted ? { ok: false, error: "There was no answer within ten seconds." } : { ok: true, error: null };
  } catch (error) {
    if (!(error instanceof ExpectedFailure)) throw error;
    return { ok: false, error: error.message };
  }
}
