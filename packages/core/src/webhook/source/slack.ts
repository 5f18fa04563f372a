import { after, firstTextAt, valueAt, words } from "./fields.ts";
import { matchesHmac, parseHex, parseSeconds, type Signature } from "./signature.ts";
import type { Source } from "./source.ts";

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const slack: Source = {
  signature_headers: ["x-slack-signature"],
  readSignature,
  form_field: "payload",
  deliveryId: (_headers, body) => valueAt(body, "event_id"),
  eventType: (_headers, body) => valueAt(body, "event", "type") ?? valueAt(body, "type"),
  challenge: (body) => (valueAt(body, "type") === "url_verification" ? valueAt(body, "challenge") : null),
  summarize(event_type, body) {
    const channel = firstTextAt(body, ["event", "channel"], ["event", "item", "channel"], ["channel", "id"]);
    const user = firstTextAt(body, ["event", "user"], ["user", "username"], ["user", "id"]);
    const text = firstTextAt(body, ["event", "text"], ["event", "reaction"]);
    return words(`Slack ${event_type}:`, text, after("in", channel), after("by", user));
  },
};

function readSignature(headers: Headers): Signature {
  const text = headers.get("x-slack-signature")?.trim();
  const time = headers.get("x-slack-request-timestamp")?.trim();
  if (!text || !time) return "missing";
  const digest = text.startsWith("v0=") ? parseHex(text.slice(3)) : null;
  const sent_at = parseSeconds(time);
  if (!digest || Number.isNaN(sent_at)) return "malformed";
  return { matches: (secret, body) => matchesHmac([digest], secret, [`v0:${time}:`, body]), sentAt: () => sent_at };
}
