import type { Context } from "../context.ts";
import { DomainError } from "../errors.ts";
import { incrementCounter, incrementCounters, rateLimited } from "../rate-limit.ts";
import { readSignature, type Signature, verifySignature } from "./signature.ts";

/** The scope of the counters of refused posts to signed webhooks: for each webhook, and for each of its client addresses. */
export const REFUSALS = "webhook_refused";
export const refusalKey = (webhook_id: string, address: string): string => `${webhook_id} ${address}`;

/** What decides whether a post is admitted. */
export interface Admission {
  webhook_id: string;
  /** Null when the webhook takes unsigned posts. */
  secret: string | null;
  signature_header: string | null;
  /** The counter key of the client. */
  address: string;
  /** Posts to this webhook that were refused in this clock minute: from this address, and in all. */
  refused_here: number;
  refused_in_all: number;
}

interface Post {
  headers: Headers;
  read(max_bytes: number): Promise<Uint8Array>;
}

/**
 * Reads the body of a post that the webhook admits (docs/reference/webhooks.md#rate-limit). With a secret, only posts with a
 * right signature use the rate of the webhook: anybody can send the others, so they count by the client's address.
 */
export async function readAdmitted(ctx: Context, admission: Admission, post: Post): Promise<Uint8Array> {
  const max_bytes = ctx.settings.budgets.webhook_max_payload_bytes;
  if (admission.secret === null) {
    await countPost(ctx, admission);
    return post.read(max_bytes);
  }
  const signature = readSignature(admission.signature_header, post.headers);
  const isOverLimit = requireReadable(ctx, admission, signature);
  const bytes = await readSigned(admission.secret, signature, post, max_bytes).catch(async (error: unknown) => {
    if (error instanceof DomainError) await countRefusal(ctx, admission);
    throw error instanceof DomainError && isOverLimit ? rateLimited(ctx) : error;
  });
  await countPost(ctx, admission);
  return bytes;
}

async function readSigned(secret: string, signature: Signature, post: Post, max_bytes: number): Promise<Uint8Array> {
  const bytes = await post.read(max_bytes);
  verifySignature(secret, signature, bytes);
  return bytes;
}

/**
 * Returns whether the address is over its limit of refused posts. Such a post is read only when it may have a right signature:
 * its sender can share the address with the attacker. Beyond the webhook's total, no address with refused posts is read.
 */
function requireReadable(ctx: Context, { refused_here, refused_in_all }: Admission, signature: Signature): boolean {
  const { webhook_refusals_per_minute: limit, webhook_total_refusals_per_minute: total } = ctx.settings.budgets;
  const isOverLimit = limit > 0 && refused_here >= limit;
  const isOverTotal = total > 0 && refused_in_all >= total && refused_here > 0;
  if (isOverTotal || (isOverLimit && typeof signature === "string")) throw rateLimited(ctx);
  return isOverLimit;
}

async function countPost(ctx: Context, { webhook_id }: Admission): Promise<void> {
  const limit = ctx.settings.budgets.webhook_rate_per_minute;
  if (limit > 0 && (await incrementCounter(ctx, "webhook", webhook_id)) > limit) throw rateLimited(ctx);
}

async function countRefusal(ctx: Context, { webhook_id, address }: Admission): Promise<void> {
  if (ctx.settings.budgets.webhook_refusals_per_minute === 0) return;
  // The order of the keys is always the same, so that concurrent posts cannot deadlock.
  await incrementCounters(ctx, REFUSALS, [webhook_id, refusalKey(webhook_id, address)]);
}
