import { parseHex, matchesHmac } from "./signature.ts";
import type { Source } from "./source.ts";

const DEFAULT_HEADERS = ["x-hub-signature-256", "x-webhook-signature"];

/** Any sender that signs with HMAC-SHA256 in hex, or that does not sign. Its requests have no event names. */
export const generic: Source = {
  signature_headers: DEFAULT_HEADERS,
  signs_body_only: true,
  readSignature(headers, header) {
    const names = header === null ? DEFAULT_HEADERS : [header];
    const text = names.map((name) => headers.get(name)?.trim()).find(Boolean);
    if (!text) return "missing";
    const digest = parseHex(text.replace(/^sha256=/i, ""));
    return digest ? { matches: (secret, body) => matchesHmac([digest], secret, [body]) } : "malformed";
  },
  deliveryId: (headers) => headers.get("idempotency-key") ?? headers.get("webhook-id"),
};
