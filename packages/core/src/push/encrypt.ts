import { createCipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from "node:crypto";

export const CURVE = "prime256v1";
const PUBLIC_KEY_BYTES = 65;
const AUTH_BYTES = 16;
const SALT_BYTES = 16;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
/** Marks the last record of an encrypted message. */
const DELIMITER = 2;
/** Every push service accepts a body of this size (RFC 8030). */
const RECORD_BYTES = 4_096;
const OVERHEAD_BYTES = SALT_BYTES + 4 + 1 + PUBLIC_KEY_BYTES + 1 + 16;
/** The maximum size in bytes of a message's text. */
export const MAX_MESSAGE_BYTES = RECORD_BYTES - OVERHEAD_BYTES;

/** The keys of a browser's subscription, in base64url. */
export interface SubscriptionKeys {
  p256dh: string;
  auth: string;
}

const decode = (text: string): Buffer => Buffer.from(text, "base64url");

/** Returns whether a message can be encrypted for these keys. */
export function areKeys({ p256dh, auth }: SubscriptionKeys): boolean {
  if (decode(auth).length !== AUTH_BYTES || decode(p256dh).length !== PUBLIC_KEY_BYTES) return false;
  try {
    newPair().computeSecret(decode(p256dh));
    return true;
  } catch {
    return false;
  }
}

function newPair(): ECDH {
  const pair = createECDH(CURVE);
  pair.generateKeys();
  return pair;
}

const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", key, salt, info, bytes));

/**
 * Encrypts a message for a browser, so that the push service cannot read it (RFC 8291, with the encoding of RFC 8188 in one
 * record). Only tests that compare with a known result pass the key pair and the salt.
 */
export function encrypt(
  text: string,
  { p256dh, auth }: SubscriptionKeys,
  { pair = newPair(), salt = randomBytes(SALT_BYTES) }: { pair?: ECDH; salt?: Buffer } = {},
): Buffer {
  const [theirs, ours] = [decode(p256dh), pair.getPublicKey()];
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), theirs, ours]);
  const secret = derive(pair.computeSecret(theirs), decode(auth), info, 32);
  const key = derive(secret, salt, Buffer.from("Content-Encoding: aes128gcm\0"), KEY_BYTES);
  const nonce = derive(secret, salt, Buffer.from("Content-Encoding: nonce\0"), NONCE_BYTES);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const body = [cipher.update(text, "utf8"), cipher.update(Buffer.of(DELIMITER)), cipher.final(), cipher.getAuthTag()];
  const record_size = Buffer.alloc(4);
  record_size.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, record_size, Buffer.of(ours.length), ours, ...body]);
}
