import { lte } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";
import { seal, unseal, unsealIfReadable } from "../values/seal.ts";
import { addMs, DAY_MS } from "../values/time.ts";

/**
 * A secret whose previous value stays valid for a while, so that the other side, a sender or receiver, can get the new value later.
 */
type SecretColumns = Pick<
  typeof board_webhooks.$inferSelect,
  "secret_sealed" | "previous_secret_sealed" | "previous_secret_until"
>;

const OVERLAP_MS = DAY_MS;
const NO_PREVIOUS = { previous_secret_sealed: null, previous_secret_until: null };

export const sealSecret = (ctx: Context, secret: string): Uint8Array => seal(ctx.settings.encryption_key, secret);

/**
 * Returns the secrets that are valid now, the current one first. The list is empty only if no secret is set. A previous secret that
 * was encrypted with another key is left out.
 */
export function validSecrets(ctx: Context, row: SecretColumns): string[] {
  const isPreviousValid = row.previous_secret_until !== null && row.previous_secret_until > ctx.now();
  const key = ctx.settings.encryption_key;
  const current = row.secret_sealed && unseal(key, row.secret_sealed);
  const previous = isPreviousValid && row.previous_secret_sealed ? unsealIfReadable(key, row.previous_secret_sealed) : null;
  return [current, previous].filter((secret) => secret !== null);
}

/** Returns the column values that store a new secret. The stored secret becomes the previous one. */
export const toRotatedSecret = (ctx: Context, stored: Uint8Array, secret: string) => ({
  secret_sealed: sealSecret(ctx, secret),
  previous_secret_sealed: stored,
  previous_secret_until: addMs(ctx.now(), OVERLAP_MS),
});

/** Like `toRotatedSecret`, for a secret that may be absent. Returns no columns if the stored secret is the same. */
export function changeSecret(
  ctx: Context,
  { secret_sealed: stored }: SecretColumns,
  secret: string | null,
): Partial<SecretColumns> {
  const readable = stored && unsealIfReadable(ctx.settings.encryption_key, stored);
  if (secret === readable && (stored === null) === (readable === null)) return {};
  if (secret !== null && stored !== null && readable !== null) return toRotatedSecret(ctx, stored, secret);
  return { secret_sealed: secret === null ? null : sealSecret(ctx, secret), ...NO_PREVIOUS };
}

/** Returns the column values that revoke the previous secret at once, for example because it has leaked. */
export const endOverlap = (row: SecretColumns): Partial<SecretColumns> =>
  row.previous_secret_sealed === null ? {} : NO_PREVIOUS;

/** Erases previous secrets that are no longer valid. */
export async function eraseOldSecrets(ctx: Context): Promise<void> {
  for (const table of [board_webhooks, subscriptions])
    await ctx.db
      .update(table)
      .set({ ...NO_PREVIOUS, updated_at: table.updated_at })
      .where(lte(table.previous_secret_until, ctx.now()));
}
