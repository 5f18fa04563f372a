import { and, eq, isNull } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import { seal, unseal } from "../values/seal.ts";
import type { SubscriptionRow } from "./subscription.ts";

type Address = Pick<SubscriptionRow, "url" | "url_sealed">;

const SHOWN_CHARS = 4;
/** Of a shorter path, four characters would be too large a part. */
const MIN_PATH_CHARS = 16;
/** Of an hourly run; the next one seals the rest. */
const MAX_OLD = 1_000;

/** Where messages are posted to. */
export const receiverUrl = (ctx: Pick<Context, "settings">, { url, url_sealed }: Address): string =>
  url_sealed ? unseal(ctx.settings.encryption_key, url_sealed) : url;

/** The columns of an address. The address of an incoming webhook of Slack is a credential: who knows it can post to its channel, so it is sealed. */
export function addressColumns(ctx: Context, { url, format }: Pick<SubscriptionRow, "url" | "format">): Address {
  if (format !== "slack") return { url, url_sealed: null };
  return { url: toShown(url), url_sealed: seal(ctx.settings.encryption_key, url) };
}

/** The columns that change. An address that was sealed stays so under every format, or a change of it would show the address. */
export function changeAddress(
  ctx: Context,
  stored: Address & Pick<SubscriptionRow, "format">,
  { url, format = stored.format }: { url?: string | undefined; format?: SubscriptionRow["format"] | undefined },
): Partial<Address> {
  const isNew = url !== undefined && url !== stored.url && url !== receiverUrl(ctx, stored);
  if (isNew) return addressColumns(ctx, { url, format });
  return stored.url_sealed ? {} : changedToSealed(ctx, stored.url, format);
}

const changedToSealed = (ctx: Context, url: string, format: SubscriptionRow["format"]): Partial<Address> =>
  format === "slack" ? addressColumns(ctx, { url, format }) : {};

/** Host and last characters, as an address that a client can parse. */
function toShown(address: string): string {
  const { origin, pathname, search } = new URL(address);
  const path = pathname + search;
  return `${origin}/...${path.length < MIN_PATH_CHARS ? "" : path.slice(-SHOWN_CHARS)}`;
}

/** Seals addresses from before they were sealed. */
export async function sealOldAddresses(ctx: Context): Promise<void> {
  const isOld = and(eq(subscriptions.format, "slack"), isNull(subscriptions.url_sealed));
  const { id, url, format } = subscriptions;
  for (const old of await ctx.db.select({ id, url, format }).from(subscriptions).where(isOld).limit(MAX_OLD))
    await ctx.db
      .update(subscriptions)
      .set({ ...addressColumns(ctx, old), updated_at: subscriptions.updated_at })
      // Not one that was changed meanwhile.
      .where(and(eq(id, old.id), eq(url, old.url), isOld));
}
