import { valueAt } from "./fields.ts";
import { readStandardSignature } from "./signature.ts";
import type { Source } from "./source.ts";

/** https://www.standardwebhooks.com, which many senders follow. */
export const standard_webhooks: Source = {
  signature_headers: ["webhook-signature"],
  readSignature: (headers) => readStandardSignature(headers),
  deliveryId: (headers) => headers.get("webhook-id"),
  eventType: (_headers, body) => valueAt(body, "type"),
  summarize: (event_type) => `Event ${event_type}`,
};
