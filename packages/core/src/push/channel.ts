import type { Context } from "../context/context.ts";
import { type FetchLimits, FetchError, type HttpResponse, retryAfterMs } from "../context/http-client.ts";
import { removeGoneChannel } from "../channel/channel.ts";
import type { ChannelKind, Due, Recipient, SendWrite } from "../channel/kind.ts";
import { ExpectedFailure } from "../values/errors.ts";
import { DAY_MS } from "../values/time.ts";
import { encrypt } from "./encrypt.ts";
import { testPushText, toPushText, toTopic } from "./message.ts";
import { parseAddress } from "./subscription.ts";
import { getVapidKey, toAuthorization } from "./vapid.ts";
import { chunk } from "../values/chunk.ts";

const LIMITS: FetchLimits = { connect_ms: 5_000, total_ms: 8_000, max_bytes: 100_000 };
/** How long a push service keeps a message. The buttons of a decision are valid for the same time. */
const TTL_SECONDS = DAY_MS / 1000;
const TOO_MANY = 429;

/** Thrown when the push service did not accept a message. */
class PushError extends ExpectedFailure {
  override name = "PushError";
  readonly #is_transient: boolean;
  readonly #retry_after_ms: number | null;
  constructor(message: string, { is_transient, retry_after_ms }: { is_transient: boolean; retry_after_ms: number | null }) {
    super(message);
    this.#is_transient = is_transient;
    this.#retry_after_ms = retry_after_ms;
  }

  override get is_transient(): boolean {
    return this.#is_transient;
  }

  override get retry_after_ms(): number | null {
    return this.#retry_after_ms;
  }
}

/** How many browsers a job sends to at the same time, so that browsers that do not answer delay few others. */
const MAX_CONCURRENT = 10;
/** The maximum number of notifications in a message that sums them up. */
const MAX_ITEMS = 50;
/**
 * Up to this many decisions get a separate message each, with buttons to decide. If there are more decisions, they share messages
 * with all other notifications.
 */
const MAX_APART = 3;

/** The channel for web push. Each browser that a person has subscribed is one channel. */
export const pushChannel: ChannelKind = {
  type: "push",
  job: "people.push",
  isOn: () => true,
  open: async (ctx) => ({
    max_concurrent: MAX_CONCURRENT,
    split,
    send: (due) => sendDue(ctx, due),
  }),
  async sendTest(ctx, recipient) {
    const { isGone } = await send(ctx, recipient, { text: testPushText(ctx), urgency: "high", topic: null });
    if (isGone) throw new PushError(GONE, { is_transient: false, retry_after_ms: null });
  },
};

function split(due: readonly Due[]): Due[][] {
  const decisions = due.filter(isDecision);
  const apart = new Set(decisions.length > MAX_APART ? [] : decisions);
  const rest = due.filter((item) => !apart.has(item));
  return [...[...apart].map((item) => [item]), ...chunk(rest, MAX_ITEMS)];
}

const isDecision = ({ approval }: Due): boolean => approval !== null;
const GONE = "The browser has ended its subscription.";

/** Sends a message to a browser. A browser that has ended its subscription is removed, with all messages that wait for it. */
async function sendDue(ctx: Context, due: readonly Due[]): Promise<SendWrite | void> {
  const topic = due.length === 1 ? toTopic(due[0]!) : null;
  const urgency = due.some(isDecision) ? "high" : "normal";
  const { isGone } = await send(ctx, due[0]!, { text: toPushText(ctx, due), urgency, topic });
  const { id } = due[0]!.channel;
  if (isGone) return (ctx) => removeGoneChannel(ctx, id);
}

interface Message {
  text: string;
  urgency: "high" | "normal";
  topic: string | null;
}

async function send(
  ctx: Context,
  { channel, organization_id }: Recipient,
  { text, urgency, topic }: Message,
): Promise<{ isGone: boolean }> {
  const { endpoint, keys } = openAddress(ctx, channel.address_sealed);
  const headers = {
    authorization: toAuthorization(ctx, await getVapidKey(ctx), endpoint),
    "content-type": "application/octet-stream",
    "content-encoding": "aes128gcm",
    ttl: String(TTL_SECONDS),
    urgency,
    ...(topic === null ? {} : { topic }),
  };
  const answer = await post(ctx, endpoint, { headers, body: encrypt(text, keys), organization_id });
  await answer.body.return();
  const { status } = answer;
  if (status === 404 || status === 410) return { isGone: true };
  if (status >= 200 && status < 300) return { isGone: false };
  const is_transient = status === TOO_MANY || status >= 500;
  throw new PushError(`The push service answered ${status}.`, { is_transient, retry_after_ms: retryAfterMs(answer) });
}

function openAddress(ctx: Context, sealed: Uint8Array | null): ReturnType<typeof parseAddress> {
  try {
    return parseAddress(ctx, sealed!);
  } catch {
    const text = "The address of this browser cannot be read, because ENCRYPTION_KEY has changed. Subscribe again.";
    throw new PushError(text, { is_transient: false, retry_after_ms: null });
  }
}

async function post(ctx: Context, endpoint: string, request: Parameters<Context["http"]["post"]>[1]): Promise<HttpResponse> {
  try {
    return await ctx.http.post(endpoint, request, LIMITS);
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    throw new PushError(`${error.message}.`, { is_transient: error.problem !== "refused_address", retry_after_ms: null });
  }
}
