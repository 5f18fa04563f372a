/**
 * Texts of other people are printed in terminals, which obey control characters, and which show text after a bidirectional
 * override in another order. Line breaks and tabs are kept where they are harmless.
 */
const UNSAFE = /(?![\n\t])\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/gu;

/** A text of several lines without control characters. */
export const toSafeText = (text: string): string => text.replaceAll("\r\n", "\n").replaceAll(UNSAFE, "");

/** A text in one line, at most `max` characters long. */
export function toSafeLine(text: string, max = Number.POSITIVE_INFINITY): string {
  // Cut first: the texts of others may be long, and only their beginning is shown.
  const cut = text.length > max * 2 ? text.slice(0, max * 2) : text;
  const line = toSafeText(cut).replaceAll(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= max && cut === text ? line : `${characters.slice(0, max - 1).join("")}…`;
}

/** JSON whose strings have their control characters escaped, also those that JSON allows. */
export const toSafeJson = (value: unknown, space?: number): string =>
  JSON.stringify(value, null, space).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
