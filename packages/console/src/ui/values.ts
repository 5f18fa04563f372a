import { FieldError, type Typed } from "./form.tsx";

export const textOf = (typed: Typed, name: string): string => String(typed[name] ?? "");

/** Returns the text without surrounding spaces, or null if nothing is left. */
export const textOrNull = (typed: Typed, name: string): string | null => textOf(typed, name).trim() || null;

/** Splits a text at its commas into names. Returns null if there are no names. */
export function namesOf(typed: Typed, name: string): string[] | null {
  const names = textOf(typed, name)
    .split(",")
    .map((part) => part.trim());
  const given = names.filter((part) => part !== "");
  return given.length > 0 ? given : null;
}

/** Returns a number. A text that is not a number is sent as it was typed, so that the service says what is wrong with it. */
export function numberOrNull(typed: Typed, name: string): number | null {
  const text = textOf(typed, name).trim();
  if (text === "") return null;
  return (Number.isFinite(Number(text)) ? Number(text) : text) as number;
}

export function jsonOrNull<T>(typed: Typed, name: string): T | null {
  const text = textOf(typed, name).trim();
  if (text === "") return null;
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new FieldError(name, "This is not JSON. Texts need double quotes.");
  }
}

export const toJsonText = (value: unknown): string =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

const MINUTE_MS = 60_000;

/** Converts a timestamp to local time, in the format of the browser's `datetime-local` field. */
export function toLocal(at: string | null): string {
  if (at === null) return "";
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16);
}

export const fromLocal = (text: string): string | null => (text ? new Date(text).toISOString() : null);
