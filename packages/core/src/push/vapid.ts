import { createECDH, createPrivateKey, type KeyObject, sign } from "node:crypto";
import type { Context } from "../context/context.ts";
import { findServiceKey, getOrCreateServiceKey } from "../db/service-key.ts";
import { CURVE } from "./encrypt.ts";

const KEY_NAME = "web-push";
/** Push services accept tokens that are valid for at most 24 hours. */
const VALID_SECONDS = 12 * 3_600;

/** The key with which push services recognize this service (RFC 8292). */
interface VapidKey {
  /** The public key that browsers get when they subscribe. */
  public_key: string;
  private_key: KeyObject;
}

/** Returns the key and creates it when it is first needed. If the key changed, every browser would have to subscribe again. */
export const getVapidKey = async (ctx: Pick<Context, "db" | "settings">): Promise<VapidKey> =>
  toVapidKey(await getOrCreateServiceKey(ctx, KEY_NAME, createKey));

/** Finds the key. Returns null if it has not been created yet. Throws if it was encrypted with a different ENCRYPTION_KEY. */
export async function findVapidKey(ctx: Pick<Context, "db" | "settings">): Promise<VapidKey | null> {
  const stored = await findServiceKey(ctx, KEY_NAME);
  return stored === null ? null : toVapidKey(stored);
}

function createKey(): string {
  const pair = createECDH(CURVE);
  pair.generateKeys();
  return pair.getPrivateKey("base64url");
}

function toVapidKey(stored: string): VapidKey {
  const pair = createECDH(CURVE);
  const secret = Buffer.from(stored, "base64url");
  pair.setPrivateKey(secret);
  const point = pair.getPublicKey();
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: Buffer.concat([Buffer.alloc(32 - secret.length), secret]).toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  return { public_key: point.toString("base64url"), private_key: createPrivateKey({ key: jwk, format: "jwk" }) };
}

const toPart = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns the header by which a push service recognizes the sender. It is valid for this push service only. */
export function toAuthorization(
  { settings, now }: Pick<Context, "settings" | "now">,
  { public_key, private_key }: VapidKey,
  endpoint: string,
): string {
  const claims = {
    aud: new URL(endpoint).origin,
    exp: Math.floor(now().getTime() / 1000) + VALID_SECONDS,
    sub: contactOf(settings),
  };
  const text = `${toPart({ typ: "JWT", alg: "ES256" })}.${toPart(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key: private_key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${text}.${signature.toString("base64url")}, k=${public_key}`;
}

/**
 * Returns the address at which a push service can contact the operator. Some push services refuse anything that is neither an https
 * address nor an e-mail address.
 */
function contactOf({ service_url, mail }: Context["settings"]): string {
  // The sender is `Name <address>` or an address.
  if (mail) return `mailto:${mail.from.split("<").pop()!.replace(">", "")}`;
  return service_url.startsWith("https:") ? service_url : "mailto:operator@board.invalid";
}
