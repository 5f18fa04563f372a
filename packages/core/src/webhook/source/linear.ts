import { after, dotted, firstTextAt, textAt, valueAt, words } from "./fields.ts";
import { readHexSignature } from "./signature.ts";
import type { Source } from "./source.ts";

/** https://linear.app/developers/webhooks */
export const linear: Source = {
  signature_headers: ["linear-signature"],
  signs_body_only: true,
  readSignature(headers) {
    const signature = readHexSignature(headers.get("linear-signature"));
    return typeof signature === "string" ? signature : { ...signature, sentAt: readTime };
  },
  deliveryId: (headers) => headers.get("linear-delivery"),
  eventType: (headers, body) => dotted(valueAt(body, "type") ?? headers.get("linear-event"), valueAt(body, "action")),
  summarize(event_type, body) {
    const title = firstTextAt(body, ["data", "title"], ["data", "name"], ["data", "body"]);
    const sender = after("by", textAt(body, "actor", "name"));
    return words(`Linear ${event_type}:`, textAt(body, "data", "identifier"), title, sender);
  },
};

/** Reads the time, which Linear sends in a field of the signed body, in milliseconds. */
function readTime(bytes: Uint8Array): number {
  try {
    const time = valueAt(JSON.parse(new TextDecoder().decode(bytes)), "webhookTimestamp");
    return typeof time === "number" ? time : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
