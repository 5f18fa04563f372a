import { createHmac, timingSafeEqual } from "node:crypto";
import { DomainError } from "../errors.ts";

export const DEFAULT_SIGNATURE_HEADERS = ["x-hub-signature-256", "x-webhook-signature"];

/** The 32 bytes of a signature, or what is wrong with it. */
export type Signature = Buffer | "missing" | "malformed";

/** Reads the signature of a request: hex of any case, with or without the prefix `sha256=`. */
export function readSignature(header: string | null, headers: Headers): Signature {
  const names = header === null ? DEFAULT_SIGNATURE_HEADERS : [header];
  const text = names.map((name) => headers.get(name)?.trim()).find(Boolean);
  if (!text) return "missing";
  const hex = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(text)?.[1];
  return hex ? Buffer.from(hex, "hex") : "malformed";
}

/** Verifies the HMAC-SHA256 of the raw bytes in constant time (docs/reference/webhooks.md#signature). */
export function verifySignature(secret: string, signature: Signature, body: Uint8Array): void {
  if (signature === "missing") throw new DomainError("forbidden", "Missing webhook signature header.");
  if (signature === "malformed" || !timingSafeEqual(signature, createHmac("sha256", secret).update(body).digest()))
    throw new DomainError("forbidden", "Invalid webhook signature.");
}
