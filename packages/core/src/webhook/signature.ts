import { createHmac, timingSafeEqual } from "node:crypto";
import { DomainError } from "../errors.ts";

export const DEFAULT_SIGNATURE_HEADERS = ["x-hub-signature-256", "x-webhook-signature"];

/**
 * Verifies a request with its webhook's secret, in constant time: HMAC-SHA256 of the raw bytes as hex of any case, with or
 * without the prefix `sha256=`. Without a secret every request passes (docs/reference/webhooks.md#signature).
 */
export function verifySignature(secret: string | null, header: string | null, headers: Headers, body: Uint8Array): void {
  if (secret === null) return;
  const names = header === null ? DEFAULT_SIGNATURE_HEADERS : [header];
  const signature = names.map((name) => headers.get(name)?.trim()).find(Boolean);
  if (!signature) throw new DomainError("forbidden", "Missing webhook signature header.");
  const expected = createHmac("sha256", secret).update(body).digest();
  const actual = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(signature)?.[1];
  if (!actual || !timingSafeEqual(Buffer.from(actual, "hex"), expected))
    throw new DomainError("forbidden", "Invalid webhook signature.");
}
