import { sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { channels } from "../schema/channel.sql.ts";
import { users } from "../schema/organization.sql.ts";
import { DomainError } from "../values/errors.ts";
import { toMail } from "./email.ts";
import type { ChannelKind, Due, Recipient } from "./kind.ts";
import { linksOf } from "./links.ts";
import { testItem, toItem } from "./message.ts";
import { signLink } from "./signed-link.ts";
import { chunk } from "../values/chunk.ts";

/**
 * Sends mail to the address in the profile. All due notifications of a person are sent as one mail, or as several mails of
 * `MAX_ITEMS`.
 */
export const emailChannel: ChannelKind = {
  type: "email",
  job: "people.email",
  isOn: ({ mail }) => mail !== null,
  addChannels: addEmailChannels,
  sendTest,
  async open(ctx) {
    const { mail } = ctx;
    if (!mail) return null;
    return {
      split: (due) =>
        chunk(
          due.filter(({ email }) => email !== null),
          MAX_ITEMS,
        ),
      send: (due) => mail.send(toLetter(ctx, due)),
    };
  },
};

async function sendTest(ctx: Context, { channel, email }: Recipient): Promise<void> {
  if (ctx.mail === null || email === null) throw new DomainError("conflict", "There is no address or no mail server.");
  const id = crypto.randomUUID();
  await ctx.mail.send(toMail([testItem(ctx)], { to: email, id, unsubscribe_url: toUnsubscribeLink(ctx, channel.id) }));
}

/** The maximum number of notifications in a mail. */
const MAX_ITEMS = 50;

/**
 * Adds a channel for each person with an e-mail address, so that people get e-mails without setting them up. A channel that a
 * person switched off stays off.
 */
async function addEmailChannels(ctx: Context, _organization_id: string, user_ids: readonly string[]): Promise<void> {
  await ctx.db.execute(sql`insert into ${channels} (user_id, type)
    select person.id, 'email' from ${users} as person
    where person.id = any(${sql.param([...user_ids])}::uuid[]) and person.email is not null
    on conflict do nothing`);
}

const toUnsubscribeLink = (ctx: Context, channel_id: string): string =>
  `${ctx.settings.service_url}/unsubscribe?token=${signLink(ctx, { for: "unsubscribe", channel_id })}`;

function toLetter(ctx: Context, due: readonly Due[]) {
  const [first] = due;
  const { channel, email, delivery_id } = first!;
  const unsubscribe_url = toUnsubscribeLink(ctx, channel.id);
  const items = due.map((notification) => toItem(notification, linksOf(ctx, notification)));
  return toMail(items, { to: email!, id: delivery_id, unsubscribe_url });
}
