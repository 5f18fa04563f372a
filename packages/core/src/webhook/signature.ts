import { createHmac, timingSafeEqual } from "node:crypto";
import { DomainError } from "../errors.ts";

export const DEFAULT_SIGNATURE_HEADERS = ["x-hub-signature-256", "x-webhook-signature"];

/**
 * Checks a post against its webhook's secret: HMAC-SHA256 of the raw bytes in hex, with or without `sha256=`, any case,
 * in constant time. A secret of null lets everything pass.
 */
export function verifySignature(secret: string | null, header: string | null, headers: Headers, body: Uint8Array): void {
  if (secret === null) return;
  const names = header === null ? DEFAULT_SIGNATURE_HEADERS : [header];
  const given = names.map((name) => headers.get(name)?.trim()).find(Boolean);
  if (!given) throw new DomainError("forbidden", "Missing webhook signature header.");
  const expected = createHmac("sha256", secret).update(body).digest();
  const actual = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(given)?.[1];
  if (!actual || !timingSafeEqual(Buffer.from(actual, "hex"), expected))
    throw new DomainError("forbidden", "Invalid webhook signature.");
}
