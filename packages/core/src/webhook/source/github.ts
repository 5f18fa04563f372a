import { after, dotted, firstTextAt, lengthAt, plural, textAt, valueAt, words } from "./fields.ts";
import { readHexSignature } from "./signature.ts";
import type { Source } from "./source.ts";

const SUBJECTS = ["pull_request", "issue", "discussion", "release", "workflow_run", "check_run", "alert"] as const;

/** https://docs.github.com/en/webhooks */
export const github: Source = {
  signature_headers: ["x-hub-signature-256", "x-hub-signature"],
  readSignature: (headers) => readHexSignature(headers.get("x-hub-signature-256"), "sha256="),
  form_field: "payload",
  signs_body_only: true,
  deliveryId: (headers) => headers.get("x-github-delivery"),
  eventType: (headers, body) => dotted(headers.get("x-github-event"), valueAt(body, "action")),
  summarize(event_type, body) {
    const place = firstTextAt(body, ["repository", "full_name"], ["organization", "login"]);
    const sender = after("by", firstTextAt(body, ["sender", "login"], ["pusher", "name"]));
    if (event_type === "push")
      return words("GitHub push:", plural(lengthAt(body, "commits"), "commit"), after("to", place), sender);
    const subject = SUBJECTS.find((key) => valueAt(body, key));
    const number = subject ? textAt(body, subject, "number") : "";
    const title = subject ? firstTextAt(body, [subject, "title"], [subject, "name"], [subject, "tag_name"]) : "";
    return words(`GitHub ${event_type}:`, number && `#${number}`, title, after("in", place), sender);
  },
};
