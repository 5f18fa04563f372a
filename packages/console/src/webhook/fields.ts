import type { Agent, Webhook, WebhookUpdate } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { optionOf } from "../ui/select.tsx";
import { namesOf, textOf, textOrNull } from "../ui/values.ts";

const SOURCES: Record<Webhook["source"], string> = {
  generic: "Any other",
  github: "GitHub",
  gitlab: "GitLab",
  linear: "Linear",
  sentry: "Sentry",
  slack: "Slack",
  stripe: "Stripe",
  standard_webhooks: "Standard Webhooks",
};

/** Agents of a board that a webhook can notify. */
export type Notified = Pick<Agent, "id" | "name" | "is_board_lead">;

/** Returns the fields of a webhook. The service never returns the secret, so an empty field means that the secret stays. */
export function fieldsOf(agents: readonly Notified[], webhook: Webhook | null): FieldSpec[] {
  const isGeneric = (typed: Typed) => typed["source"] === "generic";
  return [
    { name: "description", label: "What the agent should do with a payload", kind: "long", rows: 3 },
    { name: "source", label: "Sender", kind: "choice", options: Object.entries(SOURCES), short: true },
    {
      name: "agent_id",
      label: "Agent to tell",
      kind: "choice",
      options: [["", "The lead of the board"], ...agents.map(optionOf)],
      short: true,
    },
    {
      name: "event_types",
      label: "Events to tell it of",
      placeholder: "all",
      hint: "Names separated by commas, such as issues.*, push. Others are only stored.",
    },
    {
      name: "secret",
      label: "Secret of the sender for signatures",
      kind: "secret",
      hint: webhook?.has_secret
        ? "Leave it empty to keep it. The present one works 24 hours longer."
        : "Empty: requests need no signature.",
      isShown: (typed) => typed["unsigned"] !== true,
    },
    ...(webhook?.has_secret ? [{ name: "unsigned", label: "Requests need no signature any more", kind: "check" as const }] : []),
    { name: "signature_header", label: "Header of the signature", placeholder: "X-Hub-Signature-256", isShown: isGeneric },
    { name: "enabled", label: "Accepts requests", kind: "check" },
  ];
}

export const NEW: Typed = {
  description: "",
  source: "generic",
  agent_id: "",
  event_types: "",
  secret: "",
  signature_header: "",
  enabled: true,
};

export const toTyped = (webhook: Webhook): Typed => ({
  description: webhook.description,
  source: webhook.source,
  agent_id: webhook.agent_id ?? "",
  event_types: webhook.event_types?.join(", ") ?? "",
  secret: "",
  unsigned: false,
  signature_header: webhook.signature_header ?? "",
  enabled: webhook.enabled,
});

/** Returns a request body with only the fields in `typed`. */
export function toBody(typed: Typed): WebhookUpdate {
  const has = (name: string) => name in typed;
  return {
    ...(has("description") ? { description: textOf(typed, "description") } : {}),
    ...(has("source") ? { source: textOf(typed, "source") as Webhook["source"] } : {}),
    ...(has("agent_id") ? { agent_id: textOrNull(typed, "agent_id") } : {}),
    ...(has("event_types") ? { event_types: namesOf(typed, "event_types") } : {}),
    ...(has("secret") && textOf(typed, "secret") ? { secret: textOf(typed, "secret") } : {}),
    ...(typed["unsigned"] === true ? { secret: null } : {}),
    ...(has("signature_header") ? { signature_header: textOrNull(typed, "signature_header") } : {}),
    ...(has("enabled") ? { enabled: typed["enabled"] === true } : {}),
  };
}
