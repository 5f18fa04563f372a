import { JsonObject } from "../values/wire.ts";

/** The profile of an agent as callers send it: keys such as role, communication_style and emoji. */
export const IdentityProfile = JsonObject.nullable().transform((profile) => normalizeProfile(profile));

/**
 * Trims keys, drops blank keys and null values, joins arrays, and turns other values into trimmed strings. Returns null if nothing
 * is left.
 */
function normalizeProfile(profile: Record<string, unknown> | null): Record<string, string> | null {
  const entries = Object.entries(profile ?? {}).flatMap(([key, value]): [string, string][] => {
    const name = key.trim();
    if (!name || value === null || value === undefined) return [];
    const text = Array.isArray(value) ? value.map(toText).join(", ") : toText(value);
    return text ? [[name, text]] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

const toText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value)).trim();
