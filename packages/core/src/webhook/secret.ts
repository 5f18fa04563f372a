import { lte } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { seal, unseal } from "../values/seal.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

type SecretColumns = Pick<
  typeof board_webhooks.$inferSelect,
  "secret_sealed" | "previous_secret_sealed" | "previous_secret_until"
>;

/** For how long the secret before a change signs too, so that the sender can be changed later than the webhook. */
const OVERLAP_MS = DAY_MS;
const NO_PREVIOUS = { previous_secret_sealed: null, previous_secret_until: null };

export const sealSecret = (ctx: Context, secret: string | null) =>
  secret === null ? null : seal(ctx.settings.encryption_key, secret);

const unsealSecret = (ctx: Context, sealed: Uint8Array | null): string | null =>
  sealed ? unseal(ctx.settings.encryption_key, sealed) : null;

/** The secrets that may sign a post now. Empty when the webhook takes unsigned posts. */
export function acceptedSecrets(ctx: Context, row: SecretColumns): string[] {
  const isPreviousAccepted = row.previous_secret_until !== null && row.previous_secret_until > ctx.now();
  const sealed = [row.secret_sealed, isPreviousAccepted ? row.previous_secret_sealed : null];
  return sealed.flatMap((bytes) => unsealSecret(ctx, bytes) ?? []);
}

/**
 * The columns that a new secret changes; none when it is the stored one. The stored one becomes the previous one. Without a
 * secret posts are unsigned, so nothing is kept.
 */
export function changeSecret(ctx: Context, row: SecretColumns, secret: string | null): Partial<SecretColumns> {
  if (secret === unsealSecret(ctx, row.secret_sealed)) return {};
  const sealed = { secret_sealed: sealSecret(ctx, secret) };
  if (secret === null || row.secret_sealed === null) return { ...sealed, ...NO_PREVIOUS };
  return { ...sealed, previous_secret_sealed: row.secret_sealed, previous_secret_until: addMs(ctx.now(), OVERLAP_MS) };
}

/** The columns that end the overlap at once, for a secret that others know. */
export const endOverlap = (row: SecretColumns): Partial<SecretColumns> =>
  row.previous_secret_sealed === null ? {} : NO_PREVIOUS;

/** Erases the previous secrets that are not accepted any more. */
export async function eraseOldSecrets(ctx: Context): Promise<void> {
  await ctx.db
    .update(board_webhooks)
    .set({ ...NO_PREVIOUS, updated_at: board_webhooks.updated_at })
    .where(lte(board_webhooks.previous_secret_until, ctx.now()));
}
