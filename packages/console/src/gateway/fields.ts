import type { Gateway } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { numberOrNull, textOf, textOrNull } from "../ui/values.ts";

const hasHost = (typed: Typed): boolean => typed["kind"] !== "pull";

const HOST_FIELDS: readonly FieldSpec[] = [
  { name: "url", label: "Address of the host", placeholder: "wss://agents.example.com", isShown: hasHost },
  { name: "workspace_root", label: "Folder for the agents on the host", placeholder: "~/.openclaw", isShown: hasHost },
  {
    name: "token",
    label: "Token of the host",
    kind: "secret",
    hint: "Stored encrypted. Leave it empty to keep what is stored.",
    isShown: hasHost,
  },
  { name: "disable_device_pairing", label: "Connect without pairing this service as a device", kind: "check", isShown: hasHost },
  { name: "allow_insecure_tls", label: "Accept any certificate", kind: "check", isShown: hasHost },
  {
    name: "sync_interval_minutes",
    label: "Sync the agents' files every … minutes",
    kind: "number",
    placeholder: "never",
    isShown: hasHost,
  },
];

export const NEW_FIELDS: readonly FieldSpec[] = [
  { name: "name", label: "Name" },
  {
    name: "kind",
    label: "Kind",
    kind: "choice",
    options: [
      ["openclaw", "OpenClaw host: the service connects to it"],
      ["pull", "Pull: agents anywhere ask for work"],
    ],
  },
  ...HOST_FIELDS,
];

export const CHANGE_FIELDS: readonly FieldSpec[] = [{ name: "name", label: "Name" }, ...HOST_FIELDS];

export const NEW: Typed = {
  name: "",
  kind: "openclaw",
  url: "",
  workspace_root: "~/.openclaw",
  token: "",
  disable_device_pairing: false,
  allow_insecure_tls: false,
  sync_interval_minutes: "",
};

export const toTyped = (gateway: Gateway): Typed => ({
  name: gateway.name,
  kind: gateway.kind,
  url: gateway.url,
  workspace_root: gateway.workspace_root,
  token: "",
  disable_device_pairing: gateway.disable_device_pairing,
  allow_insecure_tls: gateway.allow_insecure_tls,
  sync_interval_minutes: gateway.sync_interval_minutes === null ? "" : String(gateway.sync_interval_minutes),
});

/** Returns a request body with only the fields in `typed`. An empty token is left out, so that the stored token stays. */
export function toBody(typed: Typed) {
  const texts = ["name", "url", "workspace_root"].filter((name) => name in typed);
  const token = textOrNull(typed, "token");
  const flags = ["disable_device_pairing", "allow_insecure_tls"].filter((name) => name in typed);
  return {
    ...Object.fromEntries(texts.map((name) => [name, textOf(typed, name).trim()])),
    ...Object.fromEntries(flags.map((name) => [name, typed[name] === true])),
    ...(token === null ? {} : { token }),
    ...("sync_interval_minutes" in typed ? { sync_interval_minutes: numberOrNull(typed, "sync_interval_minutes") } : {}),
  };
}

/** Returns the request body for a new gateway. A pull gateway has no settings except its name. */
export function toNewBody(typed: Typed) {
  const name = textOf(typed, "name");
  if (!hasHost(typed)) return { kind: "pull" as const, name };
  return { url: "", workspace_root: "", ...toBody(typed), name };
}
