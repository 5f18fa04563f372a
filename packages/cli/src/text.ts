/**
 * Characters that are removed from text of other people: control characters, which a terminal obeys, and bidirectional overrides,
 * which change the visible order. Line breaks and tabs are not among them.
 */
const UNSAFE = /(?![\n\t])\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/gu;

/** Removes unsafe characters from a text of several lines. */
export const toSafeText = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, "");

/** Converts a text to one line of at most `max` characters. */
export function toSafeLine(text: string, max = Number.POSITIVE_INFINITY): string {
  // The text is cut first, because it may be long and only its beginning is shown.
  const cut = text.length > max * 2 ? text.slice(0, max * 2) : text;
  const line = toSafeText(cut).replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= max && cut === text ? line : `${characters.slice(0, max - 1).join("")}…`;
}

/** Serializes to JSON and escapes all control characters in strings, including those that JSON allows unescaped. */
export const toSafeJson = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
