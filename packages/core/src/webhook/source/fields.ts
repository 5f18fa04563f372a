import { ellipsize } from "../../values/text.ts";

const MAX_FIELD = 100;
/** Values are truncated to this length before they are cleaned, so that large bodies do not take longer. */
const MAX_READ = 1_000;

/** Returns the value at a path of own properties, or undefined. */
export function valueAt(body: unknown, ...path: readonly string[]): unknown {
  let value = body;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/**
 * Converts an untrusted value for one line of a summary. Truncates it and removes control and invisible characters, because they
 * could break the line or reverse its direction. Returns an empty string for values other than strings and numbers.
 */
export function toField(value: unknown): string {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.slice(0, MAX_READ) : "";
  const clean = text
    .toWellFormed()
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return ellipsize(clean, MAX_FIELD);
}

export const textAt = (body: unknown, ...path: readonly string[]): string => toField(valueAt(body, ...path));

/** Returns the first non-empty value at one of the paths, converted by `toField`. */
export function firstTextAt(body: unknown, ...paths: readonly (readonly string[])[]): string {
  for (const path of paths) {
    const text = textAt(body, ...path);
    if (text) return text;
  }
  return "";
}

/** Joins the non-empty parts with spaces. */
export const words = (...parts: readonly (string | false)[]): string => parts.filter(Boolean).join(" ");

/** Returns `before` followed by the text, or an empty string if the text is empty. */
export const after = (before: string, text: string): string => (text ? `${before} ${text}` : "");

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Joins `kind` and `action` into one name, such as `issues.opened`. */
export const dotted = (kind: unknown, action: unknown): unknown =>
  typeof kind === "string" && kind && typeof action === "string" && action ? `${kind}.${action}` : kind;

export const lengthAt = (body: unknown, ...path: readonly string[]): number => {
  const value = valueAt(body, ...path);
  return Array.isArray(value) ? value.length : 0;
};
