import { textAt, valueAt, words } from "./fields.ts";
import { readStripeSignature } from "./signature.ts";
import type { Source } from "./source.ts";

/** https://docs.stripe.com/webhooks */
export const stripe: Source = {
  signature_headers: ["stripe-signature"],
  readSignature: (headers) => readStripeSignature(headers.get("stripe-signature")),
  deliveryId: (_headers, body) => valueAt(body, "id"),
  eventType: (_headers, body) => valueAt(body, "type"),
  summarize(event_type, body) {
    const object = textAt(body, "data", "object", "object");
    const id = textAt(body, "data", "object", "id");
    return words(`Stripe ${event_type}:`, object, id, valueAt(body, "livemode") === false && "(test mode)");
  },
};
