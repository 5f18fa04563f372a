import { eq } from "drizzle-orm";
import * as z from "zod";
import type { ChannelKind, Due, Recipient } from "../channel/kind.ts";
import { testItem } from "../channel/message.ts";
import type { Context } from "../context/context.ts";
import { channels } from "../schema/channel.sql.ts";
import { DomainError } from "../values/errors.ts";
import { unseal } from "../values/seal.ts";
import { findSlackApp, pauseSlackApp, resumeSlackApp, type SlackAppRow, tokenOf } from "./app.ts";
import { escapeMarkup, MAX_ITEMS, section, type SlackMessage, toSlackMessage } from "./message.ts";
import { callSlack, SlackError } from "./web-api.ts";

/** How many people a job sends to at the same time. */
const MAX_CONCURRENT = 5;
/** How many decisions get a separate message. Such a message is replaced when the decision is made. */
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
        await send(ctx, app, due[0]!, toSlackMessage(ctx, due));
        if (app.last_error !== null) return (ctx) => resumeSlackApp(ctx, organization_id);
        return undefined;
      },
      onStopped: (ctx, failure, until) => pauseSlackApp(ctx, organization_id, failure, until),
    };
  },
};

function split(due: readonly Due[]): Due[][] {
  const decisions = due.filter(({ approval }) => approval !== null);
  const apart = new Set(decisions.length > MAX_APART ? [] : decisions);
  const rest = due.filter((item) => !apart.has(item));
  const parts = Array.from({ length: Math.ceil(rest.length / MAX_ITEMS) }, (_, part) =>
    rest.slice(part * MAX_ITEMS, (part + 1) * MAX_ITEMS),
  );
  return [...[...apart].map((item) => [item]), ...parts];
}

const Address = z.object({ team_id: z.string(), user_id: z.string() });
export type SlackAddress = z.infer<typeof Address>;

async function send(
  ctx: Context,
  app: SlackAppRow,
  { channel }: Pick<Recipient, "channel">,
  message: SlackMessage,
): Promise<void> {
  const { team_id, user_id } = openAddress(ctx, channel.address_sealed);
  if (team_id !== app.team_id) throw new SlackError("The Slack user belongs to another workspace. Link it again.", "message");
  const { organization_id } = app;
  const body = { channel: user_id, ...message, unfurl_links: false, unfurl_media: false };
  await callSlack(ctx, "chat.postMessage", { organization_id, token: tokenOf(ctx, app), body });
}

function openAddress({ settings }: Context, sealed: Uint8Array | null): SlackAddress {
  try {
    return Address.parse(JSON.parse(unseal(settings.encryption_key, sealed!)));
  } catch {
    throw new SlackError("The Slack user cannot be read, because ENCRYPTION_KEY is another one. Link it again.", "message");
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
