import { and, eq, isNull } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import { seal, unseal, unsealIfReadable } from "../values/seal.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";

type Address = Pick<SubscriptionRow, "url" | "url_sealed">;

const SHOWN_CHARS = 4;
/**
 * The last four characters of an address are shown only if its path has at least this length. They would reveal too much of a
 * shorter path.
 */
const MIN_PATH_CHARS = 16;
/** The maximum number of addresses per hourly run. The next run encrypts the remaining ones. */
const MAX_OLD = 1_000;

/** Returns the address to which messages are posted. */
export const receiverUrl = (ctx: Pick<Context, "settings">, { url, url_sealed }: Address): string =>
  url_sealed ? unseal(ctx.settings.encryption_key, url_sealed) : url;

/**
 * Returns the columns of an address. The address of a Slack webhook is encrypted, because anyone who knows it can post to the
 * channel.
 */
export function addressColumns(ctx: Context, { url, format }: Pick<SubscriptionRow, "url" | "format">): Address {
  if (format !== "slack") return { url, url_sealed: null };
  return { url: toShown(url), url_sealed: seal(ctx.settings.encryption_key, url) };
}

/**
 * Returns the address columns that a request changes. An encrypted address stays encrypted, because changing the format would
 * otherwise reveal it.
 */
export function changeAddress(
  ctx: Context,
  stored: Address & Pick<SubscriptionRow, "format">,
  { url, format = stored.format }: { url?: string | undefined; format?: SubscriptionRow["format"] | undefined },
): Partial<Address> {
  const hidden = stored.url_sealed && unsealIfReadable(ctx.settings.encryption_key, stored.url_sealed);
  const isNew = url !== undefined && url !== stored.url && url !== hidden;
  if (isNew) return addressColumns(ctx, { url, format });
  return stored.url_sealed ? {} : changedToSealed(ctx, stored.url, format);
}

const changedToSealed = (ctx: Context, url: string, format: SubscriptionRow["format"]): Partial<Address> =>
  format === "slack" ? addressColumns(ctx, { url, format }) : {};

/** Returns the host and the last characters of an address, in the form of a valid URL. */
function toShown(address: string): string {
  const { origin, pathname, search } = new URL(address);
  const path = pathname + search;
  return `${origin}/...${path.length < MIN_PATH_CHARS ? "" : path.slice(-SHOWN_CHARS)}`;
}

/** Encrypts addresses that an earlier version stored in plain text. */
export async function sealOldAddresses(ctx: Context): Promise<void> {
  const isOld = and(eq(subscriptions.format, "slack"), isNull(subscriptions.url_sealed));
  const { id, url, format } = subscriptions;
  for (const old of await ctx.db.select({ id, url, format }).from(subscriptions).where(isOld).limit(MAX_OLD))
    await ctx.db
      .update(subscriptions)
      .set({ ...addressColumns(ctx, old), updated_at: subscriptions.updated_at })
      // Skips an address that was changed in the meantime.
      .where(and(eq(id, old.id), eq(url, old.url), isOld));
}
