import type { Subscription, SubscriptionUpdate } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { namesOf, textOf, textOrNull } from "../ui/values.ts";

export const FIELDS: readonly FieldSpec[] = [
  { name: "url", label: "Address of the receiver", placeholder: "https://example.com/events" },
  {
    name: "event_types",
    label: "Events",
    placeholder: "*",
    hint: "Names separated by commas, such as task.*, approval.created. Empty or * for all.",
  },
  {
    name: "format",
    label: "Format",
    kind: "choice",
    options: [
      ["standard", "Standard Webhooks, signed"],
      ["slack", "A text for an incoming webhook of Slack"],
    ],
  },
  { name: "description", label: "What it is for" },
];

export const NEW: Typed = { url: "", event_types: "", format: "standard", description: "" };

export const toTyped = ({ url, event_types, format, description }: Subscription): Typed => ({
  url,
  event_types: event_types.join(", "),
  format,
  description: description ?? "",
});

/** Returns a request body with only the fields in `typed`. */
export const toBody = (typed: Typed): SubscriptionUpdate => ({
  ...("url" in typed ? { url: textOf(typed, "url").trim() } : {}),
  ...("event_types" in typed ? { event_types: namesOf(typed, "event_types") ?? ["*"] } : {}),
  ...("format" in typed ? { format: textOf(typed, "format") as Subscription["format"] } : {}),
  ...("description" in typed ? { description: textOrNull(typed, "description") } : {}),
});
