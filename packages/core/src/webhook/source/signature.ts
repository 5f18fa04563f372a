import { createHmac, timingSafeEqual } from "node:crypto";

/** A signature in the headers, before it is compared with the body. */
interface PresentedSignature {
  /** Whether the signature of the raw body was made with this secret. Compares in constant time. */
  matches(secret: string, body: Uint8Array): boolean;
  /** When the sender signed, in milliseconds. NaN if there is no valid time; undefined for schemes without a time. */
  sentAt?(body: Uint8Array): number;
}
export type Signature = PresentedSignature | "missing" | "malformed";

const DIGEST_BYTES = 32;
/** Senders add one signature for each of their secrets, and have only a few secrets. */
const MAX_SIGNATURES = 10;
const MAX_SECONDS_DIGITS = 12;

/** Returns whether one of the digests is the HMAC-SHA256 of the parts. */
export function matchesHmac(digests: readonly Buffer[], key: string | Buffer, parts: readonly (string | Uint8Array)[]): boolean {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  const expected = hmac.digest();
  return digests.some((digest) => timingSafeEqual(digest, expected));
}

/** Parses a digest in hex, in upper or lower case; null if it is malformed. */
export const parseHex = (text: string): Buffer | null => (/^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : null);

/** Reads a header with the HMAC-SHA256 of the body in hex. */
export function readHexSignature(text: string | null | undefined, prefix = ""): Signature {
  if (!text?.trim()) return "missing";
  const trimmed = text.trim();
  const digest = trimmed.startsWith(prefix) ? parseHex(trimmed.slice(prefix.length)) : null;
  return digest ? { matches: (secret, body) => matchesHmac([digest], secret, [body]) } : "malformed";
}

/** Converts whole seconds to milliseconds. Returns NaN for any other text. */
export const parseSeconds = (text: string): number =>
  text.length <= MAX_SECONDS_DIGITS && /^\d+$/.test(text) ? Number(text) * 1_000 : Number.NaN;

/** Reads a signature of the Standard Webhooks scheme: signatures of `<id>.<time>.<body>`, each as `<version>,<Base64>`. */
export function readStandardSignature(headers: Headers): Signature {
  const [id, time, text] = ["id", "timestamp", "signature"].map((name) => headers.get(`webhook-${name}`)?.trim() ?? "");
  if (!id || !time || !text) return "missing";
  const digests = text
    .split(" ")
    .flatMap((signature) => (signature.startsWith("v1,") ? [Buffer.from(signature.slice(3), "base64")] : []));
  const usable = digests.filter((digest) => digest.byteLength === DIGEST_BYTES).slice(0, MAX_SIGNATURES);
  const sent_at = parseSeconds(time);
  if (usable.length === 0 || Number.isNaN(sent_at)) return "malformed";
  return {
    matches(secret, body) {
      const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      // An empty key is refused, because anyone could sign with it.
      return key.byteLength > 0 && matchesHmac(usable, key, [`${id}.${time}.`, body]);
    },
    sentAt: () => sent_at,
  };
}

/**
 * Reads a signature of the Stripe scheme: `t=<seconds>,v1=<hex>`, where the signature covers `<seconds>.<body>`. There is one `v1`
 * for each secret.
 */
export function readStripeSignature(text: string | null): Signature {
  if (!text?.trim()) return "missing";
  const pairs = text.split(",").map((pair) => pair.trim());
  const time = pairs.find((pair) => pair.startsWith("t="))?.slice(2) ?? "";
  const signatures = pairs.filter((pair) => pair.startsWith("v1=")).slice(0, MAX_SIGNATURES);
  const digests = signatures.flatMap((signature) => parseHex(signature.slice(3)) ?? []);
  const sent_at = parseSeconds(time);
  if (digests.length === 0 || Number.isNaN(sent_at)) return "malformed";
  return { matches: (secret, body) => matchesHmac(digests, secret, [`${time}.`, body]), sentAt: () => sent_at };
}
