import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Reads 32 bytes of Base64 (either alphabet) as a key object. With a key object, HMAC and AES are several times faster than with
 * a buffer.
 */
export function toKey(base64: string): KeyObject {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== 32) throw new Error("A key must be 32 bytes in Base64");
  return createSecretKey(bytes);
}

const keyId = (key: KeyObject) => createHash("sha256").update("key id").update(key.export()).digest().subarray(0, KEY_ID_BYTES);

/** Encrypts text for the database with AES-256-GCM. Layout: key id, nonce, tag, ciphertext. */
export function seal(key: KeyObject, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce);
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([keyId(key), nonce, cipher.getAuthTag(), body]);
}

/** A stored secret was encrypted with another ENCRYPTION_KEY (docs/operating.md#encryption_key). */
export class UnreadableSecret extends Error {
  override readonly name = "UnreadableSecret";
  constructor() {
    super("This secret was sealed with another ENCRYPTION_KEY; restore the former key or enter the secret again");
  }
}

const isReadable = (key: KeyObject, bytes: Buffer) => bytes.subarray(0, KEY_ID_BYTES).equals(keyId(key));

/** Decrypts the output of `seal`. Returns null if the key is different, for callers that can do without the secret. */
export const unsealIfReadable = (key: KeyObject, sealed: Uint8Array): string | null =>
  isReadable(key, Buffer.from(sealed)) ? unseal(key, sealed) : null;

/** Decrypts the output of `seal`. Throws an UnreadableSecret if the key is different, and an error if the bytes were changed. */
export function unseal(key: KeyObject, sealed: Uint8Array): string {
  const bytes = Buffer.from(sealed);
  if (!isReadable(key, bytes)) throw new UnreadableSecret();
  const nonceEnd = KEY_ID_BYTES + NONCE_BYTES;
  const tagEnd = nonceEnd + TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(KEY_ID_BYTES, nonceEnd), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(nonceEnd, tagEnd));
  return decipher.update(bytes.subarray(tagEnd), undefined, "utf8") + decipher.final("utf8");
}
