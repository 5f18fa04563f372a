import type { Context } from "../context/context.ts";
import { FetchError, type FetchLimits, type HttpResponse, retryAfterMs } from "../context/http-client.ts";
import { truncate } from "../values/text.ts";
import { receiverUrl } from "./address.ts";
import type { Message } from "./message.ts";
import { validSecrets } from "../db/rotated-secret.ts";
import { signMessage } from "./secret.ts";
import type { SubscriptionRow } from "../schema/subscription.sql.ts";

const LIMITS: FetchLimits = { connect_ms: 10_000, total_ms: 15_000, max_bytes: Number.MAX_SAFE_INTEGER };
const RESPONSE_CHARS = 1_000;
/** How many bytes of an answer are read. They are enough for the characters that are stored. */
const RESPONSE_BYTES = 4_096;
const GONE = 410;

/** The result of one attempt to send a message. */
export interface Attempt {
  headers: Record<string, string>;
  sent_at: Date;
  duration_ms: number;
  /** Null if there was no answer. */
  status: number | null;
  response: string | null;
  /** A sentence for the owner of the subscription; null if the receiver accepted the message. */
  error: string | null;
  is_gone: boolean;
  retry_after_ms: number | null;
}

/** Posts a message, signed with the subscription's secrets, to its receiver. A failure of the receiver is part of the result. */
export async function sendMessage(ctx: Context, subscription: SubscriptionRow, { id, body }: Message): Promise<Attempt> {
  const sent_at = ctx.now();
  const timestamp = String(Math.floor(sent_at.getTime() / 1000));
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signMessage(validSecrets(ctx, subscription), id, timestamp, body),
  };
  const start = performance.now();
  const finish = (outcome: Pick<Attempt, "status" | "response" | "error"> & Partial<Attempt>): Attempt => ({
    headers,
    sent_at,
    duration_ms: Math.round(performance.now() - start),
    is_gone: false,
    retry_after_ms: null,
    ...outcome,
  });
  try {
    const request = { headers, body, organization_id: subscription.organization_id };
    const answer = await ctx.http.post(receiverUrl(ctx, subscription), request, LIMITS);
    const { status } = answer;
    const response = await readStart(answer);
    const error = status >= 200 && status < 300 ? null : toProblem(status);
    return finish({ status, response, error, is_gone: status === GONE, retry_after_ms: askedWaitMs(ctx, answer) });
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return finish({ status: null, response: null, error: `${error.message}.` });
  }
}

const toProblem = (status: number): string =>
  status >= 300 && status < 400
    ? `The receiver redirected with ${status}; redirects are not followed.`
    : `The receiver answered ${status}.`;

/**
 * Returns the start of the answer's body. A body that breaks off is not an error, because the status already decides whether the
 * attempt succeeded.
 */
async function readStart({ body }: HttpResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of body) {
      parts.push(part);
      size += part.length;
      if (size >= RESPONSE_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
  }
  const text = Buffer.concat(parts).subarray(0, RESPONSE_BYTES).toString("utf8");
  return truncate(text.replaceAll("\0", "\uFFFD").toWellFormed(), RESPONSE_CHARS);
}

/**
 * Returns the wait that the receiver asks for with `retry-after`, which is a number of seconds or a date. Returns null without such
 * a header.
 */
function askedWaitMs({ now }: Context, answer: HttpResponse): number | null {
  const value = answer.headers["retry-after"];
  if (typeof value !== "string" || value.length > 100) return null;
  const wait_ms = Date.parse(value) - now().getTime();
  return retryAfterMs(answer) ?? (Number.isNaN(wait_ms) ? null : Math.max(0, wait_ms));
}
