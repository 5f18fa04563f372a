import type { Agent } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { jsonOrNull, numberOrNull, textOf, textOrNull, toJsonText } from "../ui/values.ts";

export const FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name", short: true },
  { name: "role", label: "Role", short: true, placeholder: "Generalist" },
  { name: "every", label: "Looks for work every", placeholder: "10m", short: true },
  { name: "requests_per_minute", label: "Requests a minute at most", kind: "number", placeholder: "no limit", short: true },
  {
    name: "identity_profile",
    label: "More about its identity, as JSON",
    kind: "long",
    rows: 5,
    placeholder: '{"communication_style": "short", "emoji": ":wrench:"}',
  },
  { name: "identity_template", label: "Own text of IDENTITY.md", kind: "long", rows: 5, placeholder: "the service's text" },
  { name: "soul_template", label: "Own text of SOUL.md", kind: "long", rows: 8, placeholder: "the soul of its role" },
];

const everyOf = ({ heartbeat_config }: Agent): string => {
  const every = (heartbeat_config as { every?: unknown } | null)?.every;
  return typeof every === "string" ? every : "";
};

/** The role has its own field, apart from the rest of the profile. */
function splitProfile({ identity_profile }: Agent): { role: string; rest: Profile } {
  const { role = "", ...rest } = identity_profile ?? {};
  return { role, rest };
}

export const toTyped = (agent: Agent): Typed => ({
  name: agent.name,
  role: splitProfile(agent).role,
  every: everyOf(agent),
  requests_per_minute: agent.requests_per_minute === null ? "" : String(agent.requests_per_minute),
  identity_profile: toJsonText(orNull(splitProfile(agent).rest)),
  identity_template: agent.identity_template ?? "",
  soul_template: agent.soul_template ?? "",
});

type Profile = NonNullable<Agent["identity_profile"]>;
const orNull = (profile: Profile): Profile | null => (Object.keys(profile).length > 0 ? profile : null);

/** Returns the profile with what was typed into its two fields. Anything but an object is sent as it is, and the service refuses it. */
function toProfile(agent: Agent, typed: Typed): Profile | null {
  const stored = splitProfile(agent);
  const rest = "identity_profile" in typed ? jsonOrNull<Profile>(typed, "identity_profile") : stored.rest;
  if (rest !== null && (typeof rest !== "object" || Array.isArray(rest))) return rest;
  const { role: written = stored.role, ...others } = rest ?? {};
  const role = "role" in typed ? textOf(typed, "role").trim() : written;
  return orNull({ ...(role ? { role } : {}), ...others });
}

/** Returns a request body with only the fields in `typed`. Settings of the heartbeat other than `every` stay unchanged. */
export function toBody(agent: Agent, typed: Typed) {
  const { heartbeat_config } = agent;
  const has = (name: string) => name in typed;
  const every = textOrNull(typed, "every");
  const heartbeat = every === null ? null : { ...heartbeat_config, every };
  return {
    ...(has("name") ? { name: textOf(typed, "name") } : {}),
    ...(has("every") ? { heartbeat_config: heartbeat } : {}),
    ...(has("requests_per_minute") ? { requests_per_minute: numberOrNull(typed, "requests_per_minute") } : {}),
    ...(has("role") || has("identity_profile") ? { identity_profile: toProfile(agent, typed) } : {}),
    ...(has("identity_template") ? { identity_template: textOrNull(typed, "identity_template") } : {}),
    ...(has("soul_template") ? { soul_template: textOrNull(typed, "soul_template") } : {}),
  };
}
