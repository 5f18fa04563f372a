import * as z from "zod";
import { addChannel, type Channel } from "../channel/channel.ts";
import type { User } from "../context/actor.ts";
import type { Context } from "../context/context.ts";
import { FetchError } from "../context/http-client.ts";
import { DomainError } from "../values/errors.ts";
import { unseal } from "../values/seal.ts";
import { lazyObject, MAX_URL, NonEmpty, valueError } from "../values/wire.ts";
import { areKeys, type SubscriptionKeys } from "./encrypt.ts";
import { getVapidKey } from "./vapid.ts";

const MAX_BROWSER = 100;
const MAX_KEY = 100;

export const PushKey = lazyObject(() => ({
  public_key: z.string().describe("The `applicationServerKey` with which a browser subscribes."),
})).meta({ id: "PushKey", description: "The key of this service for web push." });
export type PushKey = z.infer<typeof PushKey>;

const Key = z
  .string()
  .regex(/^[\w-]+$/)
  .max(MAX_KEY);

export const CreatePushSubscription = lazyObject(() => ({
  name: NonEmpty(MAX_BROWSER).describe("What the person calls the browser."),
  endpoint: NonEmpty(MAX_URL).describe("Where the browser receives messages: https, at a public host and port 443."),
  keys: z
    .object({
      p256dh: Key.describe("The public key of the subscription, in Base64 for URLs."),
      auth: Key.describe("The secret of the subscription, in Base64 for URLs."),
    })
    .refine(areKeys, valueError("keys must be those of a push subscription"))
    .describe("As the browser's `PushSubscription` has them."),
})).meta({ id: "PushSubscriptionCreate" });
export type CreatePushSubscription = z.infer<typeof CreatePushSubscription>;

/**
 * Where the browser of a person receives messages. It is stored encrypted, because anyone who knows it could disturb the person.
 */
interface Address {
  endpoint: string;
  keys: SubscriptionKeys;
}

export const getPushKey = async (ctx: Context<User>): Promise<PushKey> => ({ public_key: (await getVapidKey(ctx)).public_key });

/** Stores the subscription of a browser as a channel of the caller. */
export async function addPushSubscription(ctx: Context<User>, input: CreatePushSubscription): Promise<Channel> {
  const { name, endpoint, keys } = input;
  await requireEndpoint(ctx, endpoint);
  const address: Address = { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } };
  return addChannel(ctx, { type: "push", name, identity: endpoint, address: JSON.stringify(address) });
}

async function requireEndpoint(ctx: Context<User>, endpoint: string): Promise<void> {
  try {
    await ctx.http.checkReceiver(endpoint, ctx.actor.active?.organization_id ?? ctx.actor.user_id);
  } catch (error) {
    if (error instanceof FetchError) throw new DomainError("invalid", `${error.message}.`);
    throw error;
  }
}

/** Returns the address of a channel. Throws if the address was encrypted with a different key. */
export const parseAddress = ({ settings }: Pick<Context, "settings">, sealed: Uint8Array): Address =>
  JSON.parse(unseal(settings.encryption_key, sealed)) as Address;
