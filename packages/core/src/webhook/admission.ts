import type { Context } from "../context/context.ts";
import { DomainError } from "../values/errors.ts";
import { countRequest, incrementCounters, reportMinuteLimit, rateLimited } from "../db/rate-limit.ts";
import { verifySignature } from "./signature.ts";
import type { SourceName } from "../schema/webhook.sql.ts";
import type { Signature } from "./source/signature.ts";
import { SOURCES } from "./source/sources.ts";

/**
 * The name of the counters of refused posts. A webhook with a secret has one counter for all posts and one for each client address.
 */
export const REFUSALS = "webhook_refused";
export const refusalKey = (webhook_id: string, address: string): string => `${webhook_id} ${address}`;

const REFUSALS_LIMIT = "webhook_refusals_per_minute";

/** The data that determine whether a post is accepted. */
interface Admission {
  webhook_id: string;
  source: SourceName;
  /** Empty if the webhook accepts unsigned posts. */
  secrets: readonly string[];
  signature_header: string | null;
  /** The client's address, as it is written in the keys of counters. */
  address: string;
  /**
   * How many posts to this webhook were refused in this clock minute from this address. The next field has the number from all
   * addresses.
   */
  refused_here: number;
  refused_in_all: number;
}

interface Post {
  headers: Headers;
  read(max_bytes: number): Promise<Uint8Array>;
}

/**
 * Reads the body of a post within the webhook's limits (docs/reference/webhooks.md#rate-limit). If the webhook has a secret, only
 * correctly signed posts count toward its rate. Anyone can send other posts, so these are counted by client address.
 */
export async function readAdmitted(ctx: Context, admission: Admission, post: Post): Promise<Uint8Array> {
  if (admission.secrets.length === 0) {
    await countPost(ctx, admission);
    return post.read(ctx.settings.budgets.webhook_max_payload_bytes);
  }
  const signature = SOURCES[admission.source].readSignature(post.headers, admission.signature_header);
  const isOverLimit = requireReadable(ctx, admission, signature);
  const bytes = await readSigned(ctx, admission.secrets, signature, post).catch(async (error: unknown) => {
    if (error instanceof DomainError) await countRefusal(ctx, admission);
    throw error instanceof DomainError && isOverLimit ? rateLimited(ctx) : error;
  });
  await countPost(ctx, admission);
  return bytes;
}

async function readSigned(ctx: Context, secrets: readonly string[], signature: Signature, post: Post): Promise<Uint8Array> {
  const bytes = await post.read(ctx.settings.budgets.webhook_max_payload_bytes);
  verifySignature(secrets, signature, bytes, ctx.now());
  return bytes;
}

/**
 * Returns whether the address is over its limit of refused posts. A sender may share the address with an attacker, so posts with a
 * signature are still read. If the webhook's total is over its limit, all posts of addresses with a refused post are refused.
 */
function requireReadable(ctx: Context, { refused_here, refused_in_all }: Admission, signature: Signature): boolean {
  const { webhook_refusals_per_minute: limit, webhook_total_refusals_per_minute: total } = ctx.settings.budgets;
  const isOverLimit = limit > 0 && refused_here >= limit;
  if (limit > 0 && refused_here > 0) reportMinuteLimit(ctx, REFUSALS_LIMIT, limit, refused_here);
  const isOverTotal = total > 0 && refused_in_all >= total && refused_here > 0;
  if (isOverTotal || (isOverLimit && typeof signature === "string")) throw rateLimited(ctx);
  return isOverLimit;
}

const countPost = (ctx: Context, { webhook_id }: Admission): Promise<void> =>
  countRequest(ctx, "webhook_rate_per_minute", "webhook", webhook_id);

async function countRefusal(ctx: Context, { webhook_id, address }: Admission): Promise<void> {
  const limit = ctx.settings.budgets.webhook_refusals_per_minute;
  if (limit === 0) return;
  // The keys are always in the same order, so that concurrent posts cannot deadlock.
  const [, here] = await incrementCounters(ctx, REFUSALS, [webhook_id, refusalKey(webhook_id, address)]);
  if (here) reportMinuteLimit(ctx, REFUSALS_LIMIT, limit, here.count);
}
