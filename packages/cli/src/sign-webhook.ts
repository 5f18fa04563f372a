import { createHmac, randomUUID } from "node:crypto";
import type { BoardWebhook } from "@board/client";

interface Post {
  webhook: Pick<BoardWebhook, "source" | "signature_header">;
  body: Buffer;
  /** The secret of the webhook. Without a secret, the post has no signature. */
  secret: string | null;
  /** The name of the event. Some senders put it into a header. */
  event: string;
  now: Date;
}

const hex = (secret: string, ...parts: (string | Buffer)[]) => digest(secret, parts).toString("hex");

function digest(key: string | Buffer, parts: (string | Buffer)[]): Buffer {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Returns the headers that the webhook's source sends, including ids of the delivery and of the event. */
export function toWebhookHeaders({ webhook, body, secret, event, now }: Post): Record<string, string> {
  const id = randomUUID();
  const seconds = String(Math.floor(now.getTime() / 1000));
  const signed = (make: (secret: string) => Record<string, string>) => (secret === null ? {} : make(secret));
  switch (webhook.source) {
    case "github":
      return {
        "x-github-delivery": id,
        "x-github-event": event,
        ...signed((key) => ({ "x-hub-signature-256": `sha256=${hex(key, body)}` })),
      };
    case "gitlab":
      return {
        "x-gitlab-event": event,
        "idempotency-key": id,
        ...signed((key) => (key.startsWith("whsec_") ? standardHeaders(id, seconds, key, body) : { "x-gitlab-token": key })),
      };
    case "stripe":
      return signed((key) => ({ "stripe-signature": `t=${seconds},v1=${hex(key, `${seconds}.`, body)}` }));
    case "slack":
      return signed((key) => ({
        "x-slack-request-timestamp": seconds,
        "x-slack-signature": `v0=${hex(key, `v0:${seconds}:`, body)}`,
      }));
    case "linear":
      return { "linear-delivery": id, "linear-event": event, ...signed((key) => ({ "linear-signature": hex(key, body) })) };
    case "sentry":
      return {
        "request-id": id,
        "sentry-hook-resource": event,
        "sentry-hook-timestamp": seconds,
        ...signed((key) => ({ "sentry-hook-signature": hex(key, body) })),
      };
    case "standard_webhooks":
      return signed((key) => standardHeaders(id, seconds, key, body));
    default:
      return {
        "idempotency-key": id,
        ...signed((key) => ({ [webhook.signature_header ?? "x-webhook-signature"]: `sha256=${hex(key, body)}` })),
      };
  }
}

/** Returns the headers that Standard Webhooks defines (https://www.standardwebhooks.com). */
function standardHeaders(id: string, seconds: string, secret: string, body: Buffer): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = digest(key, [`${id}.${seconds}.`, body]).toString("base64");
  return { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": `v1,${signature}` };
}

/**
 * Returns a small payload as the source sends it. Linear's payload has a time, because Linear signs the time in the body and not in
 * a header.
 */
export function samplePayload({ source }: Pick<BoardWebhook, "source">, event: string, now: Date): string {
  const text = "A test post of the command line";
  const bodies: Partial<Record<BoardWebhook["source"], object>> = {
    github: {
      action: "opened",
      issue: { number: 1, title: text },
      repository: { full_name: "test/test" },
      sender: { login: "board" },
    },
    gitlab: { object_kind: event, object_attributes: { action: "open", title: text } },
    stripe: { id: `evt_${randomUUID()}`, type: event, livemode: false, data: { object: { object: "test" } } },
    slack: { type: "event_callback", event_id: randomUUID(), event: { type: event, text } },
    linear: { type: event, action: "create", webhookTimestamp: now.getTime(), data: { title: text } },
    standard_webhooks: { type: event, timestamp: now.toISOString(), data: { text } },
  };
  return JSON.stringify(bodies[source] ?? { event, text });
}

const EVENTS: Record<BoardWebhook["source"], string> = {
  generic: "test",
  github: "issues",
  gitlab: "issue",
  stripe: "invoice.paid",
  slack: "app_mention",
  linear: "Issue",
  sentry: "issue",
  standard_webhooks: "test.sent",
};
export const sampleEvent = ({ source }: Pick<BoardWebhook, "source">): string => EVENTS[source];
