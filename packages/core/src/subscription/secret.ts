import { createHmac, randomBytes } from "node:crypto";
import { lte } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { unseal } from "../values/seal.ts";
import { HOUR_MS } from "../values/time.ts";
import { subscriptions } from "../schema/subscription.sql.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;
/** How long the previous secret is also used to sign, so that a receiver can be changed without losing a message. */
export const ROTATION_MS = 24 * HOUR_MS;

/** A new secret in the format of Standard Webhooks. */
export const createSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64");

/** The secrets with which messages are signed now, the current one first. */
export function signingSecrets(ctx: Context, row: SubscriptionRow): string[] {
  const { previous_secret_sealed, previous_secret_until } = row;
  const isPreviousValid = previous_secret_sealed && previous_secret_until && previous_secret_until > ctx.now();
  return [row.secret_sealed, ...(isPreviousValid ? [previous_secret_sealed] : [])].map((sealed) =>
    unseal(ctx.settings.encryption_key, sealed),
  );
}

/** The value of the header `webhook-signature` of Standard Webhooks, with one signature for each secret. */
export const signMessage = (secrets: readonly string[], id: string, timestamp: string, body: string): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    })
    .join(" ");

/** Erases previous secrets that are no longer used. */
export async function eraseOldSecrets(ctx: Context): Promise<void> {
  await ctx.db
    .update(subscriptions)
    .set({ previous_secret_sealed: null, previous_secret_until: null, updated_at: subscriptions.updated_at })
    .where(lte(subscriptions.previous_secret_until, ctx.now()));
}
