import { lte } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { seal, unseal } from "../values/seal.ts";
import { addMs, DAY_MS } from "../values/time.ts";
import { board_webhooks } from "../schema/webhook.sql.ts";

type SecretColumns = Pick<
  typeof board_webhooks.$inferSelect,
  "secret_sealed" | "previous_secret_sealed" | "previous_secret_until"
>;

/** How long the previous secret is still accepted, so that the sender can be changed later than the webhook. */
const OVERLAP_MS = DAY_MS;
const NO_PREVIOUS = { previous_secret_sealed: null, previous_secret_until: null };

export const sealSecret = (ctx: Context, secret: string | null) =>
  secret === null ? null : seal(ctx.settings.encryption_key, secret);

const unsealSecret = (ctx: Context, sealed: Uint8Array | null): string | null =>
  sealed ? unseal(ctx.settings.encryption_key, sealed) : null;

/** The secrets with which a post may be signed now. Empty if the webhook accepts unsigned posts. */
export function acceptedSecrets(ctx: Context, row: SecretColumns): string[] {
  const isPreviousAccepted = row.previous_secret_until !== null && row.previous_secret_until > ctx.now();
  const sealed = [row.secret_sealed, isPreviousAccepted ? row.previous_secret_sealed : null];
  return sealed.flatMap((bytes) => unsealSecret(ctx, bytes) ?? []);
}

/**
 * The columns that a new secret changes, none if it is the stored secret. The stored secret becomes the previous one, unless the
 * webhook had no secret or will have none.
 */
export function changeSecret(ctx: Context, row: SecretColumns, secret: string | null): Partial<SecretColumns> {
  if (secret === unsealSecret(ctx, row.secret_sealed)) return {};
  const sealed = { secret_sealed: sealSecret(ctx, secret) };
  if (secret === null || row.secret_sealed === null) return { ...sealed, ...NO_PREVIOUS };
  return { ...sealed, previous_secret_sealed: row.secret_sealed, previous_secret_until: addMs(ctx.now(), OVERLAP_MS) };
}

/** The columns that revoke the previous secret at once, for example because it has leaked. */
export const endOverlap = (row: SecretColumns): Partial<SecretColumns> =>
  row.previous_secret_sealed === null ? {} : NO_PREVIOUS;

/** Erases previous secrets that are no longer accepted. */
export async function eraseOldSecrets(ctx: Context): Promise<void> {
  await ctx.db
    .update(board_webhooks)
    .set({ ...NO_PREVIOUS, updated_at: board_webhooks.updated_at })
    .where(lte(board_webhooks.previous_secret_until, ctx.now()));
}
