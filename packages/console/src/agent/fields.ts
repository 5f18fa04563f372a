import type { Agent } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { jsonOrNull, numberOrNull, textOf, textOrNull, toJsonText } from "../ui/values.ts";

export const FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name" },
  { name: "every", label: "Looks for work every", placeholder: "10m", short: true },
  { name: "requests_per_minute", label: "Requests a minute at most", kind: "number", placeholder: "no limit", short: true },
  {
    name: "identity_profile",
    label: "Identity, as JSON",
    kind: "long",
    rows: 5,
    placeholder: '{"role": "Engineer", "communication_style": "short"}',
  },
  { name: "identity_template", label: "Own text of IDENTITY.md", kind: "long", rows: 5, placeholder: "the service's text" },
  { name: "soul_template", label: "Own text of SOUL.md", kind: "long", rows: 8, placeholder: "the soul of its role" },
];

const everyOf = ({ heartbeat_config }: Agent): string => {
  const every = (heartbeat_config as { every?: unknown } | null)?.every;
  return typeof every === "string" ? every : "";
};

export const toTyped = (agent: Agent): Typed => ({
  name: agent.name,
  every: everyOf(agent),
  requests_per_minute: agent.requests_per_minute === null ? "" : String(agent.requests_per_minute),
  identity_profile: toJsonText(agent.identity_profile),
  identity_template: agent.identity_template ?? "",
  soul_template: agent.soul_template ?? "",
});

/** Returns a request body with only the fields in `typed`. Settings of the heartbeat other than `every` stay unchanged. */
export function toBody({ heartbeat_config }: Agent, typed: Typed) {
  const has = (name: string) => name in typed;
  const every = textOrNull(typed, "every");
  const heartbeat = every === null ? null : { ...heartbeat_config, every };
  return {
    ...(has("name") ? { name: textOf(typed, "name") } : {}),
    ...(has("every") ? { heartbeat_config: heartbeat } : {}),
    ...(has("requests_per_minute") ? { requests_per_minute: numberOrNull(typed, "requests_per_minute") } : {}),
    ...(has("identity_profile") ? { identity_profile: jsonOrNull<Record<string, never>>(typed, "identity_profile") } : {}),
    ...(has("identity_template") ? { identity_template: textOrNull(typed, "identity_template") } : {}),
    ...(has("soul_template") ? { soul_template: textOrNull(typed, "soul_template") } : {}),
  };
}
