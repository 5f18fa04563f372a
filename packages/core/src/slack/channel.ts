import { eq } from "drizzle-orm";
import * as z from "zod";
import type { ChannelKind, Due, Recipient } from "../channel/kind.ts";
import { testItem } from "../channel/message.ts";
import type { Context } from "../context/context.ts";
import { channels } from "../schema/channel.sql.ts";
import { DomainError } from "../values/errors.ts";
import { unseal } from "../values/seal.ts";
import { findSlackApp, pauseSlackApp, resumeSlackApp, type SlackAppRow, tokenOf } from "./app.ts";
import { type MessageName, storeDecisionMessage } from "./decision-messages.ts";
import { escapeMarkup, MAX_ITEMS, section, type SlackMessage, toSlackMessage } from "./message.ts";
import { callSlack, SlackError } from "./web-api.ts";
import { chunk } from "../values/chunk.ts";

/** How many people a job sends to at the same time. */
const MAX_CONCURRENT = 5;
/** Up to this many decisions get a separate message each. If there are more, they share messages. */
const MAX_APART = 5;

/** The channel for direct messages from the organization's app to people who have linked their Slack user. */
export const slackChannel: ChannelKind = {
  type: "slack",
  job: "people.slack",
  isOn: () => true,
  sendTest,
  async open(ctx, organization_id) {
    const app = await findSlackApp(ctx, organization_id);
    if (!app) return null;
    if (app.retry_at !== null && app.retry_at > ctx.now()) return app.retry_at;
    return {
      max_concurrent: MAX_CONCURRENT,
      split,
      async send(due) {
        const sent = await send(ctx, app, due[0]!, toSlackMessage(ctx, due));
        return async (ctx) => {
          if (app.last_error !== null) await resumeSlackApp(ctx, organization_id);
          if (sent) await storeDecisionMessage(ctx, organization_id, due, sent);
        };
      },
      onStopped: (ctx, failure, until) => pauseSlackApp(ctx, organization_id, failure, until),
    };
  },
};

/**
 * Splits notifications into messages. Decisions share a message only with decisions, because the message is replaced when one of
 * them is made.
 */
function split(due: readonly Due[]): Due[][] {
  const decisions = due.filter(({ approval }) => approval !== null);
  const others = due.filter(({ approval }) => approval === null);
  return [...chunk(decisions, decisions.length > MAX_APART ? MAX_ITEMS : 1), ...chunk(others, MAX_ITEMS)];
}

const Address = z.object({ team_id: z.string(), user_id: z.string() });
export type SlackAddress = z.infer<typeof Address>;

async function send(
  ctx: Context,
  app: SlackAppRow,
  { channel }: Pick<Recipient, "channel">,
  message: SlackMessage,
): Promise<MessageName | null> {
  const { team_id, user_id } = openAddress(ctx, channel.address_sealed);
  if (team_id !== app.team_id) throw new SlackError("The Slack user belongs to another workspace. Link it again.", "message");
  const { organization_id } = app;
  const body = { channel: user_id, ...message, unfurl_links: false, unfurl_media: false };
  const { data } = Posted.safeParse(
    await callSlack(ctx, "chat.postMessage", { organization_id, token: tokenOf(ctx, app), body }),
  );
  return data ? { conversation: data.channel, ts: data.ts } : null;
}

const Posted = z.object({ channel: z.string().min(1).max(100), ts: z.string().min(1).max(100) });

function openAddress({ settings }: Context, sealed: Uint8Array | null): SlackAddress {
  try {
    return Address.parse(JSON.parse(unseal(settings.encryption_key, sealed!)));
  } catch {
    throw new SlackError("The Slack user cannot be read, because ENCRYPTION_KEY has changed. Link it again.", "message");
  }
}

async function sendTest(ctx: Context, { channel }: Recipient): Promise<void> {
  const [row] = await ctx.db
    .select({ organization_id: channels.organization_id })
    .from(channels)
    .where(eq(channels.id, channel.id));
  const app = row?.organization_id ? await findSlackApp(ctx, row.organization_id) : null;
  if (!app) throw new DomainError("conflict", "The organization has no Slack app any more.");
  const { title, text } = testItem(ctx);
  await send(ctx, app, { channel }, { text: escapeMarkup(title), blocks: [section(`${title}\n\n${text}`)] });
}
