import { after, dotted, firstTextAt, valueAt, words } from "./fields.ts";
import { parseSeconds, readHexSignature } from "./signature.ts";
import type { Source } from "./source.ts";

/** https://docs.sentry.io/organization/integrations/integration-platform/webhooks/ */
export const sentry: Source = {
  signature_headers: ["sentry-hook-signature"],
  signs_body_only: true,
  readSignature(headers) {
    const signature = readHexSignature(headers.get("sentry-hook-signature"));
    const sent_at = parseSeconds(headers.get("sentry-hook-timestamp")?.trim() ?? "");
    return typeof signature === "string" ? signature : { ...signature, sentAt: () => sent_at };
  },
  deliveryId: (headers) => headers.get("request-id"),
  eventType: (headers, body) => dotted(headers.get("sentry-hook-resource"), valueAt(body, "action")),
  summarize(event_type, body) {
    const title = firstTextAt(
      body,
      ["data", "issue", "title"],
      ["data", "event", "title"],
      ["data", "error", "title"],
      ["data", "description_title"],
      ["data", "comment"],
    );
    const project = firstTextAt(body, ["data", "issue", "project", "slug"], ["data", "project_slug"]);
    return words(`Sentry ${event_type}:`, title, after("in", project), after("by", firstTextAt(body, ["actor", "name"])));
  },
};
